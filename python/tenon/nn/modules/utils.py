"""What is done with the names of a state_dict."""

__all__ = ["consume_prefix_in_state_dict_if_present"]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix ("module.", which nn.DataParallel adds) from the names that have it, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):  # "" is what wraps the module, whose own name is the prefix without its dot
        if key and (key + "." == prefix or key.startswith(prefix)):
            metadata[key[len(prefix):]] = metadata.pop(key)
