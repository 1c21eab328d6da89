# The names a script finds, and its run from the source to the last frame. Python 3.11 and newer.
def materialize(value, **options):
    """Writes a result into the script's own folder and returns the path."""
    if isinstance(value, ToolResult):
        arguments = {"ref": value.ref} if value.ref else {"text": value.text}
    else:
        arguments = {"ref": value.get("$artifact") if isinstance(value, dict) else str(value)}
    given = bridge.ask("materialize", plain({**arguments, **options}, True), "materialize")._value()
    data = bytes_of(given)
    try:
        os.makedirs(os.path.dirname(given["path"]), exist_ok=True)
        with open(given["path"], "wb") as file:
            file.write(data)
    except OSError as error:
        raise ToolError("the result cannot be kept as a file here: %s" % error, "result_unavailable") from error
    return given["path"]


def bytes_of(given):
    return base64.b64decode(given["base64"]) if "base64" in given else (given.get("text") or "").encode("utf-8", "replace")


def whole_text(ref):
    """The whole text of a result that the script holds only in part."""
    return bytes_of(bridge.ask("materialize", {"ref": ref}, "materialize")._value()).decode("utf-8", "replace")


class Artifacts:
    """Results that stay with the host; a script holds their references."""

    def put(self, path, type=None, **options):
        """Stores a file of the script, text or bytes, and returns the reference."""
        arguments = {**in_pieces(content_of(path)), **({"type": type} if type is not None else {}), **options}
        return Reference(bridge.ask("artifacts.put", plain(arguments, True), "artifact").ref)

    def materialize(self, value, **options):
        return materialize(value, **options)

    def __repr__(self):
        return "<artifacts: put(path, type), materialize(result)>"


LIKE_A_PATH = re.compile(r"(\.{0,2}/[^\s{}<>]*)?")


def content_of(path):
    if isinstance(path, (str, pathlib.PurePath)) and len(str(path)) < 1024 and os.path.isfile(path):
        with open(path, "rb") as file:
            path = file.read()
    if isinstance(path, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(bytes(path)).decode("ascii")}
    if isinstance(path, pathlib.PurePath) or isinstance(path, str) and LIKE_A_PATH.fullmatch(path):
        raise FileNotFoundError("the script has no file `%s`" % path)
    return {"text": path} if isinstance(path, str) else {"value": path}


def in_pieces(content):
    """Splits large content. A piece is a multiple of four letters, so that its base64 is complete."""
    ((name, whole),) = content.items()
    if name == "value":
        name, whole = "text", to_json_text(plain(whole, True))
    most = bridge.argument_bytes // 8
    if len(whole) <= most:
        return content
    step = most // 4 * 4
    pieces = [{"piece": True, name: whole[at : at + step]} for at in range(0, len(whole), step)]
    return {"pieces": [bridge.ask("artifacts.put", piece, "artifact").ref for piece in pieces]}


def progress(message="", fraction=None, **more):
    if isinstance(message, (int, float)) and not isinstance(message, bool):
        message, fraction = (fraction if isinstance(fraction, str) else ""), message
    arguments = {"message": str(message), **({"fraction": fraction} if fraction is not None else {}), **more}
    bridge.ask("progress", plain(arguments, True), "progress")


def show_help(subject=None):
    if subject is None or subject is main_names["tools"]:
        print(bridge.ask("help", {}, "help").text)
    elif isinstance(subject, (Tool, str)):
        name = subject._sketch["name"] if isinstance(subject, Tool) else str(subject)
        print(bridge.ask("help", {"tool": name}, "help").text)
    elif isinstance(subject, Names):
        for name in subject:
            found = subject._tools[name]
            print("%s: %s" % (name, found._sketch["description"].split("\n")[0]) if isinstance(found, Tool) else repr(found))
    else:
        print(inspect.getdoc(subject) or repr(subject))


main_names = {}


def no_input(prompt=""):
    raise EOFError("a script has no terminal to read from")


def leave(code=None):
    raise SystemExit(code)


def prepare(start, exchange, threads):
    bridge.exchange, bridge.output_bytes = exchange, start["outputBytes"]
    bridge.argument_bytes, bridge.argument_values = start["argumentBytes"], start["argumentValues"]
    repeat(start["seed"], start["startedAt"])
    tools, bare = offered(start["tools"])
    module = types.ModuleType("__main__")
    names = main_names
    names.update(tools=tools, artifacts=Artifacts(), progress=progress, help=show_help, __later__=later)
    names.update(ToolError=ToolError, ToolDenied=ToolDenied, ToolResult=ToolResult)
    names.update(input=no_input, exit=leave, quit=leave, print=print)
    module.__dict__.update(bare)
    module.__dict__.update(names)
    sys.modules["__main__"], sys.stdin = module, io.StringIO("")
    sys.modules["tools"] = tools
    sys.modules.update({"tools." + name: found for name, found in tools._tools.items() if isinstance(found, Names)})
    sys.stdout, sys.stderr = Printing("out"), Printing("error")
    sys.argv, asyncio.run = [SCRIPT], run_at_once
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.set_event_loop_policy(Policy())
    install_threads(threads)
    return module


def run(start, exchange, threads):
    """Runs a script and returns the last frame: its value, or how it failed."""
    linecache.cache[SCRIPT] = (len(start["source"]), None, start["source"].splitlines(True), SCRIPT)
    try:
        value = run_script(start["source"], prepare(start, exchange, threads))
        wait_for_threads()
        crew.work(lambda: False)
        bridge.finish()
        return answer(plain(value, False))
    except OutputSpent:
        return failed("output", "The script printed more than %d bytes." % bridge.output_bytes)
    except MemoryError:
        return failed("memory", "the script needs more memory than it has")
    except Deadlock as error:
        return failed("deadlock", str(error), line_of(error))
    except SystemExit as error:
        if error.code in (None, 0):
            bridge.flush()
            return {"step": "done", "value": None, "printed": bridge.taken()}
        return failed("script", "SystemExit: %s" % error.code, line_of(error))
    except BaseException as error:
        return failed("script", message_of(error), line_of(error))


def answer(value):
    length, values = len(to_json(value)), bridge.argument_values
    if length > bridge.output_bytes:
        much = "%d bytes and %d may be (`output_bytes`)" % (length, bridge.output_bytes)
    elif holds_more(value, values):
        much = "more than %d values and names, or more than %d names in one object (`argument_values`)" % (values, -(-values // 10))
    else:
        return {"step": "done", "value": value, "printed": bridge.taken()}
    return failed("output", "The script returned %s; return less, or keep it with artifacts.put." % much)


def wait_for_threads():
    """Waits as Python does when a program ends."""
    this = threading.current_thread()
    while own := [each for each in threading.enumerate() if not each.daemon and each is not this]:
        own[0].join()


def failed(why, message, line=None):
    frame = {"step": "failed", "why": why, "message": message[:4000], "printed": bridge.taken()}
    return {**frame, "line": line} if line else frame


def line_of(error):
    if isinstance(error, SyntaxError) and error.filename == SCRIPT:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == SCRIPT]
    return lines[-1] if lines else None


def message_of(error):
    """The text of an error is code of the script, so it may fail too."""
    name = type(error).__name__
    try:
        text = str(error)
        if isinstance(error, ToolError) and error.code:
            name = "%s (%s)" % (name, error.code)
        if isinstance(error, BaseExceptionGroup):
            text = "%s: %s" % (text, "; ".join(message_of(inner) for inner in error.exceptions[:3]))
    except BaseException:
        text = "(its text cannot be read)"
    return "%s: %s" % (name, text) if text else name
