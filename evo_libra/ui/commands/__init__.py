"""The commands and their options, in groups; what they do is in the modules next to this one."""
