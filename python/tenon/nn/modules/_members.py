"""The dictionaries in which a module keeps its parameters, buffers and children.

They are the truth. For speed each also writes its entries into the module's own __dict__, so that `self.weight` is a plain
attribute and not a search through Module.__getattr__. Whatever changes such a dictionary,
through the module or directly, changes the attribute with it.
"""

import weakref

KINDS = ("_parameters", "_buffers", "_modules")

_changes = 0


def _count_change():
    global _changes
    _changes += 1


def changes():
    """A number that is another one after anything was added to any module, taken away or exchanged."""
    return _changes


class Members(dict):
    """A dict of names and values that keeps the attributes of its owner in step."""

    __slots__ = ("_owner",)

    def __init__(self, owner, entries=()):
        # weak: a module must be freed when its last user lets go, not when the cycle collector comes by
        self._owner = weakref.ref(owner)
        super().__init__()
        self.update(entries)
        _count_change()

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        _count_change()
        owner = self._owner()
        # an attribute of the class hides an entry of the same name, as it does without the copy
        if owner is not None and not hasattr(type(owner), name):
            owner.__dict__[name] = value

    def _forget(self, name, value):
        _count_change()
        owner = self._owner()
        if owner is not None and owner.__dict__.get(name, self) is value:
            del owner.__dict__[name]

    def __delitem__(self, name):
        value = self[name]
        super().__delitem__(name)
        self._forget(name, value)

    def pop(self, name, *default):
        if name not in self:
            return super().pop(name, *default)
        value = super().pop(name)
        self._forget(name, value)
        return value

    def popitem(self):
        name, value = super().popitem()
        self._forget(name, value)
        return name, value

    def clear(self):
        for name in list(self):
            del self[name]

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *entries, **named):
        for name, value in dict(*entries, **named).items():
            self[name] = value

    def __ior__(self, other):
        self.update(other)
        return self

    def __reduce_ex__(self, protocol):
        # copies and pickles are plain; Module.__setstate__ makes them its own again
        return dict, (dict(self),)


_new = Members.__new__


def made_for(owner, entries=None):
    """Members of a new module, given as a weak reference, whose attributes the entries are already."""
    held = _new(Members)
    held._owner = owner
    if entries:
        dict.update(held, entries)
    return held


def adopt(module, kind, entries):
    """Makes entries what module holds of this kind, in place of what it held."""
    attributes = module.__dict__
    before = attributes.get(kind)
    if isinstance(before, Members):
        for name, value in before.items():
            if attributes.get(name, before) is value:
                del attributes[name]
    attributes[kind] = Members(module, entries)


def without_copies(attributes):
    """A module's __dict__ as it would be without the entries that are kept twice."""
    plain = attributes.copy()
    for kind in KINDS:
        held = plain.get(kind)
        if isinstance(held, Members):
            for name, value in held.items():
                if plain.get(name, held) is value:
                    del plain[name]
            plain[kind] = dict(held)
    return plain
