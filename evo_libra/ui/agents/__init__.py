"""Tools for agents: the commands as tools of the Model Context Protocol, confined to one folder."""
