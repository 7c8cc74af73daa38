"""One page of HTML that shows results offline: data, and what shows it in a browser."""
