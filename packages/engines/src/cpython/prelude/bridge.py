# The tools of a script, its printing, and the one place that sends calls to the host. Python 3.11 and newer.
import difflib, io, keyword, re, threading, unicodedata


class OutputSpent(BaseException):
    """The script printed more than it may."""


class Printing(io.TextIOBase):
    def __init__(self, stream):
        self._stream = stream

    def writable(self):
        return True

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        bridge.printed_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if bridge.printed_bytes > bridge.output_bytes:
            raise OutputSpent()
        last = bridge.printed[-1] if bridge.printed else None
        if last is not None and last["stream"] == self._stream:
            last["parts"].append(text)
        else:
            bridge.printed.append({"stream": self._stream, "parts": [text]})
        return len(text)

    def flush(self):
        pass


class Bridge:
    """Sends calls to the host, one batch at a time: all calls since the last batch. Waits for those that are open."""

    def __init__(self):
        self.exchange, self.place, self.printed_bytes = None, 0, 0
        self.output_bytes, self.argument_bytes, self.argument_values = 0, 0, 0
        self.queue, self.printed, self.lock = [], [], threading.RLock()
        self.open = {}

    def ask(self, tool, arguments, kind=None, later=False):
        asked = {"place": self.place, "tool": tool, **self.within_bounds(arguments)}
        line = line_of_caller()
        if line is not None:
            asked["line"] = line
        if kind is not None:
            asked["kind"] = kind
        result = ToolResult(tool)
        with self.lock:
            self.place += 1
            asked["place"] = self.place - 1
            self.queue.append((asked, result))
        if not later:
            result._value()
        return result

    def within_bounds(self, arguments):
        """Leaves out arguments that are larger than they may be. The host refuses the call and says why."""
        length = len(to_json(arguments))
        if length > self.argument_bytes or 2 * length > self.argument_values and holds_more(arguments, self.argument_values):
            return {"arguments": {}, "cutBytes": length}
        return {"arguments": arguments}

    def flush(self, seconds=None, wanted=None):
        """Waits until the host has answered calls, or until a timer is due in so many seconds of the script's clock."""
        if crew.park(limit_of(seconds)):
            return
        with self.lock:
            if wanted is not None and wanted._settled is not None:
                return  # another thread got its answer
            batch, self.queue = self.queue, []
            self.open.update((asked["place"], result) for asked, result in batch)
            if not self.open:
                return
            frame = {"step": "calls", "calls": [asked for asked, _ in batch], "printed": self.taken()}
            if seconds is not None:
                frame["timerMs"] = math.ceil(seconds * 1000)
            answer = self.exchange(frame)
            clock.slept(answer["passedMs"] / 1000)
            for settled in sorted(answer["results"], key=lambda each: each["place"]):
                self.open.pop(settled["place"])._settle(settled)

    def finish(self):
        """Waits for the calls that nothing has waited for."""
        while self.queue or self.open:
            self.flush()

    def taken(self):
        printed, self.printed = self.printed, []
        return [{"stream": each["stream"], "text": "".join(each["parts"])} for each in printed]


bridge = Bridge()


def line_of_caller():
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename == SCRIPT:
            return frame.f_lineno
        frame = frame.f_back
    return None


SCRIPT = "script.py"


class Tool:
    """One tool. Arguments are named, or in the order of the tool's schema."""

    def __init__(self, sketch):
        self._sketch = sketch
        self._order = list((sketch["inputSchema"].get("properties") or {}).keys())
        self._members = members_by_name(self._order)
        self.__name__ = sketch["short"]
        self.__doc__ = sketch["description"]

    def _asked(self, given, named, later):
        if len(given) == 1 and not named and isinstance(given[0], dict) and len(self._order) != 1:
            given, named = (), given[0]
        else:
            named = {self._members.get(name, name): value for name, value in named.items()}
        if len(given) > len(self._order):
            expected = (self._sketch["name"], len(self._order), ", ".join(self._order), len(given))
            raise TypeError("`%s` takes %d arguments (%s), %d were given" % expected)
        arguments = dict(zip(self._order, given))
        for name, value in named.items():
            if name in arguments:
                raise TypeError("`%s` was given `%s` twice" % (self._sketch["name"], name))
            arguments[name] = value
        return bridge.ask(self._sketch["name"], plain(arguments, True), None, later)

    def __call__(self, /, *given, **named):
        return self._asked(given, named, False)

    def later(self, /, *given, **named):
        return self._asked(given, named, True)

    def __repr__(self):
        return "<tool %s>" % self._sketch["name"]


class Names:
    """Tools by name. A name that does not exist raises an error that lists those that do."""

    def __init__(self, title, tools, places=None, own=None):
        object.__setattr__(self, "_title", title)
        object.__setattr__(self, "_tools", tools)
        object.__setattr__(self, "_places", sorted(places or tools))
        object.__setattr__(self, "_own", own)

    def __call__(self, /, *given, **named):
        if self._own is None:
            raise TypeError("`%s` is no tool by itself. Available: %s" % (self._title, self._listed()))
        return self._own(*given, **named)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError("`%s` is refused: names that begin with `_` are no tools" % name)
        found = self._tools.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self._tools, 1)
            meant = "Did you mean `%s`? " % near[0] if near else ""
            raise AttributeError("%s has no tool `%s`. %sAvailable: %s" % (self._title, name, meant, self._listed()))
        return found

    def _listed(self):
        more = ", … (%d in all)" % len(self._places) if len(self._places) > 40 else ""
        return (", ".join(self._places[:40]) or "none") + more

    def __setattr__(self, name, value):
        raise AttributeError("tools cannot be replaced: `%s`" % name)

    def __getitem__(self, name):
        return getattr(self, identifier(name)) if isinstance(name, str) else self.__getattr__(str(name))

    def __iter__(self):
        return iter(sorted(self._tools))

    def __contains__(self, name):
        return name in self._tools

    def __dir__(self):
        return sorted(self._tools)

    def __repr__(self):
        return "<%s: %s>" % (self._title, ", ".join(sorted(self._tools)))


def identifier(name):
    """A name as a script writes it: create-issue is create_issue, class is class_, 1st is _1st (names.ts does the same)."""
    if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
        name = re.sub(r"[^0-9A-Za-z_]", "_", name)
        name = name if name and not name[0].isdigit() else "_" + name
    return name + "_" if keyword.iskeyword(name) else name


def members_by_name(members):
    """Maps keyword arguments to the members of a schema whose names differ from them."""
    taken, found = {name for name in members if identifier(name) == name}, {}
    for member in members:
        name = identifier(member)
        if name not in taken:
            taken.add(name)
            found[name] = member
    return found


def offered(sketches):
    """tools.server.tool, tools.tool.action, tools.full_name, and tools.tool if only one tool has the short name."""
    servers, whole_names, short, acting, places = {}, {}, {}, set(), set()
    for sketch in sketches:
        tool, name, server = Tool(sketch), identifier(sketch["short"]), sketch.get("server")
        whole = identifier(sketch["name"])
        if whole == sketch["name"] or whole not in whole_names:
            whole_names[whole] = tool
        places.add(name if server is None else "%s.%s" % (identifier(server), name))
        if server is not None:
            behind = servers.setdefault(identifier(server), {})
            if name == sketch["short"] or name not in behind:
                behind[name] = tool
        if sketch.get("isAction"):
            acting.add(identifier(server))
        else:
            short.setdefault(name, []).append(tool)
    plain_names = {name: found[0] for name, found in short.items() if len(found) == 1}
    everything = {**plain_names, **whole_names}
    grouped = {name: Names("tools." + name, inner, None, everything.get(name)) for name, inner in servers.items()}
    alone = {**everything, **{name: grouped[name] for name in acting}}
    return Names("tools", {**everything, **grouped}, places), {name: tool for name, tool in alone.items() if stands_alone(name)}
