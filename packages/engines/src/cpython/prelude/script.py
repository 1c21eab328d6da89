# Compiles and runs a script: calls that are awaited go to the host together, on an event loop that waits only for tools
# and the clock. Python 3.11 and newer.
import ast, asyncio, base64, builtins, contextlib, inspect, linecache, os, time, traceback, warnings

WAITERS = ("gather", "wait", "create_task", "ensure_future", "wait_for", "as_completed", "shield")


class Deadlock(Exception):
    """Every task waits and no timer runs."""


class Selector:
    """Waits for the event loop: tools and the clock are the only things that can wake it."""

    def __init__(self):
        self.wake = threading.Event()

    def select(self, timeout=None):
        if timeout is not None and timeout <= 0:
            return []
        if bridge.queue or bridge.open:
            bridge.flush(timeout)
        elif timeout is not None:
            if threading.active_count() == 1:
                time.sleep(timeout)
            elif not self.wake.wait(timeout):
                clock.slept(timeout)
        elif threading.active_count() > 1:
            self.wake.wait()
        else:
            raise Deadlock("every task waits, and nothing can wake one")
        self.wake.clear()
        return []

    def close(self):
        pass

    def get_map(self):
        return {}


class Loop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Selector()

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        self._selector.wake.set()

    def run_in_executor(self, executor, function, *given):
        return self.create_task(in_place(function, *given))


class Policy(asyncio.DefaultEventLoopPolicy if hasattr(asyncio, "DefaultEventLoopPolicy") else object):
    def new_event_loop(self):
        return Loop()


def run_at_once(main, *, debug=None, loop_factory=None):
    """asyncio.run that also works inside a running loop: a script may await at its top level and still call it."""
    outer = asyncio._get_running_loop()
    task = asyncio.current_task(outer) if outer is not None else None
    if task is not None:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    loop = Loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(main)
    finally:
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.close()
        asyncio._set_running_loop(outer)
        if task is not None:
            asyncio.tasks._enter_task(outer, task)


class Deferring(ast.NodeTransformer):
    """Marks calls whose result is awaited: they go to the host together."""

    def __init__(self, tree):
        self.names, self.marked = set(), set()
        for _ in range(2):
            for node in ast.walk(tree):
                self.look(node)

    def look(self, node):
        if isinstance(node, ast.Await):
            self.mark(node.value)
        elif isinstance(node, ast.Call) and self.waits(node.func):
            for argument in node.args:
                self.mark(argument)
        elif isinstance(node, (ast.For, ast.comprehension)):
            if isinstance(node.target, ast.Name) and node.target.id in self.names:
                self.mark(node.iter)
        elif isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id in self.names for each in node.targets):
            self.mark(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "add"):
            if isinstance(node.func.value, ast.Name) and node.func.value.id in self.names:
                for argument in node.args:
                    self.mark(argument)

    def waits(self, function):
        return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)) in WAITERS

    def mark(self, node):
        if isinstance(node, ast.Call):
            self.marked.add(node)
            if getattr(node.func, "id", None) in ("map", "list", "tuple"):
                for argument in node.args:
                    self.mark(argument)
        elif isinstance(node, ast.Name):
            self.names.add(node.id)
        elif isinstance(node, ast.Starred):
            self.mark(node.value)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for inner in node.elts:
                self.mark(inner)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            self.mark(node.elt)
        elif isinstance(node, ast.IfExp):
            self.mark(node.body), self.mark(node.orelse)
        elif isinstance(node, ast.Lambda):
            self.mark(node.body)
        elif isinstance(node, ast.BinOp):
            self.mark(node.left), self.mark(node.right)

    def visit_Call(self, node):
        self.generic_visit(node)
        if node in self.marked:
            later_name = ast.copy_location(ast.Name("__later__", ast.Load()), node.func)
            node.func = ast.copy_location(ast.Call(later_name, [node.func], []), node.func)
        return node


def later(function):
    return function.later if isinstance(function, Tool) else function


class Returning(ast.NodeVisitor):
    """Finds a `return` outside a function."""

    found = False

    def visit_Return(self, node):
        self.found = True

    def skip(self, node):
        pass

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = skip


def compiled(source):
    tree = ast.parse(source, SCRIPT)
    returning = Returning()
    returning.visit(tree)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        result = ast.Name("__postern_value__", ast.Store())
        kept = ast.Return(last.value) if returning.found else ast.Assign([result], last.value)
        tree.body[-1] = ast.copy_location(kept, last)
    tree = ast.fix_missing_locations(Deferring(tree).visit(tree))
    if returning.found:
        tree = wrapped(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, SCRIPT, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), returning.found


def wrapped(tree):
    """A script that returns is the body of a function whose names are the script's globals."""
    names = set()
    for node in ast.walk(ast.Module([each for each in tree.body], [])):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            node.simple = 0
    table = symbols(tree)
    names.update(table)
    start = [each for each in tree.body if isinstance(each, ast.ImportFrom) and each.module == "__future__"]
    body = [each for each in tree.body if each not in start]
    body = ([ast.Global(sorted(names))] if names else []) + body
    no_arguments = ast.arguments([], [], None, [], [], None, [])
    function = ast.AsyncFunctionDef("__script__", no_arguments, body, decorator_list=[], returns=None, type_params=[])
    return ast.fix_missing_locations(ast.Module(start + [function], []))


def symbols(tree):
    found = set()

    def bind(nodes):
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(node.name)
                continue
            if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                continue
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                found.add(node.id)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update((alias.asname or alias.name).split(".")[0] for alias in node.names if alias.name != "*")
            if isinstance(node, ast.ExceptHandler) and node.name:
                found.add(node.name)
            if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                found.add(node.name)
            bind(ast.iter_child_nodes(node))

    bind(tree.body)
    return found


def run_script(source, module):
    code, returns = compiled(source)
    names = module.__dict__
    outcome = eval(code, names)
    if returns:
        return run_at_once(names["__script__"]())
    if inspect.iscoroutine(outcome):
        run_at_once(outcome)
    value = names.pop("__postern_value__", None)
    return run_at_once(value) if inspect.iscoroutine(value) else value  # a script that ends with main() is meant to run it
