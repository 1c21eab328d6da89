# Values that leave a script: plain JSON, tool results, and the exceptions of failed calls. Python 3.11 and newer.
import collections.abc, dataclasses, datetime, decimal, enum, json, math, pathlib, sys, types

# Kept here, because a script may replace the functions of the module.
to_json, from_json = json.JSONEncoder(separators=(",", ":")).encode, json.JSONDecoder().decode
to_json_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

SAFE_INTEGER = 2**53 - 1
DEEPEST = 200


class Reference(str):
    """The reference of an artifact: text for the script; as an argument of a tool it stands for the artifact."""


def plain(value, strict, depth=0):
    """A value as JSON. Strict is for arguments of tools: a value that JSON cannot hold is refused."""
    if strict and isinstance(value, Reference):
        return {"$artifact": str(value)}
    if value is None or isinstance(value, (bool, str)) and not isinstance(value, enum.Enum):
        return value if not isinstance(value, str) else str(value)
    if depth > DEEPEST:
        raise ValueError("a value nested deeper than %d levels cannot leave the script" % DEEPEST)
    if isinstance(value, ToolResult):
        return value.handed_on() if strict else value.summary()
    if isinstance(value, enum.Enum):
        return plain(value.value, strict, depth + 1)
    if isinstance(value, int):
        return whole(int(value), strict)
    if isinstance(value, float):
        return fraction(float(value), strict)
    if isinstance(value, collections.abc.Mapping):
        return {key_of(key, strict): plain(inner, strict, depth + 1) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return in_order([plain(inner, strict, depth + 1) for inner in value])
    if isinstance(value, (list, tuple, collections.deque, types.GeneratorType, range)) or isinstance(value, VIEWS):
        return [plain(inner, strict, depth + 1) for inner in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), strict, depth + 1) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, pathlib.PurePath)):
        return str(value)
    if strict:
        kind = type(value).__name__
        raise TypeError("a tool cannot be handed a value of type `%s`: pass text, numbers, lists, dictionaries or a result" % kind)
    return repr(value)


VIEWS = (type({}.keys()), type({}.values()), type({}.items()), map, filter, zip)


def whole(value, strict):
    if abs(value) <= SAFE_INTEGER:
        return value
    if strict:
        shown = value if value.bit_length() < 256 else "with %d bits" % value.bit_length()
        raise ValueError("the number %s is beyond 2**53 and would be rounded: pass it as text" % shown)
    if value.bit_length() > 13000:
        return "an integer of %d bits" % value.bit_length()
    return str(value)


def fraction(value, strict):
    if math.isfinite(value):
        if strict and SAFE_INTEGER < abs(value) < 1e21:  # from 1e21 on, JSON has an exponent
            raise ValueError("the number %s is beyond 2**53, so it may have been rounded: pass it as text" % value)
        return value
    if strict:
        raise ValueError("`%s` is no JSON number: a tool cannot be handed it" % value)
    return str(value)


def key_of(key, strict):
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return to_json(key)
    if strict:
        raise TypeError("a key of type `%s` cannot be handed to a tool: use text" % type(key).__name__)
    return str(key)


def in_order(values):
    return sorted(values, key=lambda value: (type(value).__name__, value if isinstance(value, (int, float, str)) else to_json(value)))


def holds_more(value, most):
    """Whether plain data holds more values and names than that, or more than a tenth of them as names of one object."""
    left, count = [value], 0
    while left and count <= most:
        one = left.pop()
        if isinstance(one, dict):
            if len(one) * 10 > most + 9:
                return True
            count += 2 * len(one) or 1
            left.extend(one.values())
        elif isinstance(one, list):
            count += len(one) or 1
            left.extend(one)
    return count > most


class ToolError(Exception):
    """A call that did not succeed: `code` names why, `advice` says what to do next."""

    def __init__(self, message="", code=None, advice=None, tool=None):
        super().__init__(message)
        self.message, self.code, self.advice, self.tool = message, code, advice, tool

    def __str__(self):
        return self.message if not self.advice or self.advice in self.message else "%s %s" % (self.message, self.advice)


class ToolDenied(ToolError, PermissionError):
    """A call that was refused: by a policy rule, a person, or the agent's scopes or autonomy level."""


class ToolResult(collections.abc.Coroutine):
    """The result of a call. It works with `await` and without."""

    __slots__ = ("_tool", "_settled", "_waiters", "_steps")

    def __init__(self, tool, settled=None):
        self._tool, self._settled, self._waiters, self._steps = tool, settled, [], None

    def _value(self):
        while self._settled is None:
            bridge.flush(wanted=self)
        settled = self._settled
        if settled["status"] != "ok":
            kind = ToolDenied if settled["status"] == "denied" else ToolError
            raise kind(settled.get("message") or "the call failed", settled.get("code"), settled.get("advice"), self._tool)
        value = settled.get("value")
        return value if isinstance(value, dict) else {"text": None if value is None else str(value), "structured": value}

    def _settle(self, settled):
        self._settled = settled
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    text = property(lambda self: self._value().get("text") or "")

    @property
    def structured(self):
        value = self._value()
        if "unread" in value:
            raise ToolError(value["unread"], "result_unavailable", None, self._tool)
        return value.get("structured")

    ref = property(lambda self: self._value().get("ref"))
    files = property(lambda self: self._value().get("files") or [])
    notes = property(lambda self: self._value().get("notes") or [])
    status = property(lambda self: self._value().get("status") or "ok")

    def materialize(self, **options):
        """The path of a file in the workspace that holds the whole result."""
        return materialize(self, **options)

    def json(self):
        return self._data()

    def handed_on(self):
        return {"$artifact": self.ref} if self.ref else self.text

    def summary(self):
        value = self._value()
        names = ("text", "ref", "files", "status") if "unread" in value else ("text", "structured", "ref", "files", "status")
        return {name: getattr(self, name) for name in (names + ("notes",) if self.notes else names)}

    def _data(self):
        if self.structured is not None:
            return self.structured
        try:
            return from_json(whole_text(self.ref) if self.ref else self.text)
        except ValueError:
            raise TypeError("the result of `%s` is text, not data: read `.text`" % self._tool) from None

    def __repr__(self):
        return "ToolResult(%s)" % ", ".join("%s=%r" % pair for pair in self.summary().items() if pair[1] is not None)

    def __getitem__(self, key):
        return self._data()[key]

    def __iter__(self):
        return iter(self._data())

    def __len__(self):
        return len(self._data())

    def __contains__(self, key):
        return key in self._data()

    def __bool__(self):
        return True

    def __getattr__(self, name):
        if name in ("get", "keys", "values", "items") and isinstance(self._data(), dict):
            return getattr(self._data(), name)
        raise AttributeError("a ToolResult has no attribute `%s`: it has text, structured, ref, files, notes, status and materialize()" % name)

    def _awaiting(self):
        if self._settled is None:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            yield from waiter.__await__()
        self._value()
        return self

    def __await__(self):
        return self._awaiting()

    def send(self, value):
        if self._steps is None:
            self._steps = self._awaiting()
        return self._steps.send(value)

    def throw(self, *error):
        if self._steps is None:
            self._steps = self._awaiting()
        return self._steps.throw(*error)

    def close(self):
        if self._steps is not None:
            self._steps.close()
