"""Pictures of networks: boxes, switches, cables and tiers, as SVG and in characters."""
