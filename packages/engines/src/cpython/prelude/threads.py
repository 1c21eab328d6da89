# Thread pools of a script: real threads of which one runs at a time, so that every run does the same and calls go to the
# host together. Without threads the work is done at once. Python 3.11 and newer.
import concurrent.futures

own_thread = threading.local()


class Task:
    def __init__(self, future, most, work):
        self.future, self.most, self.work, self.limit = future, most, work, math.inf
        self.stopped, self.resumed = threading.Semaphore(0), threading.Semaphore(0)

    def run(self):
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            value = self.work()
        except BaseException as error:
            self.future.ended = clock.passed
            self.future.set_exception(error)
        else:
            self.future.ended = clock.passed
            self.future.set_result(value)


class Crew:
    """The worker threads of a script. A task runs until it ends or calls a tool; then the next task runs."""

    def __init__(self):
        self.new, self.parked, self.has_threads = collections.deque(), [], True

    def add(self, task):
        if self.has_threads and self.current() is None:
            self.new.append(task)
        else:
            task.run()

    def current(self):
        return getattr(own_thread, "task", None)

    def park(self, limit=math.inf):
        """In a task: waits until calls are answered or a time of the script's clock has come. Returns False outside a task."""
        task = self.current()
        if task is None:
            return False
        task.limit = limit
        self.parked.append(task)
        task.stopped.release()
        task.resumed.acquire()
        return True

    def work(self, until, limit=math.inf):
        while not until() and clock.passed < limit:
            if self.park(limit):
                continue
            while self.new and len(self.parked) < self.new[0].most:
                self.begin(self.new.popleft())
            if not self.parked:
                return
            self.serve(limit)

    def begin(self, task):
        def body():
            own_thread.task = task
            task.run()
            task.stopped.release()

        try:
            threading.Thread(target=body, daemon=True).start()
        except RuntimeError:
            task.run()  # the process may start no more threads
        else:
            self.wait_for(task)

    def serve(self, limit=math.inf):
        parked, self.parked = self.parked, []
        nearest = min(limit, *(task.limit for task in parked))
        bridge.flush(None if nearest == math.inf else max(0, nearest - clock.passed) / 1e9)
        for task in parked:
            task.resumed.release()
            self.wait_for(task)

    def wait_for(self, task):
        while not task.stopped.acquire(timeout=1):
            if self.parked:
                self.serve()  # the task may wait for a lock that one of them holds


crew = Crew()


def limit_of(timeout):
    """A time on the script's clock. The host records how it moves during calls, so a replay meets the same limit."""
    return math.inf if timeout is None else clock.passed + timeout * 1e9


class Promised(concurrent.futures.Future):
    ended = 0

    def done(self, limit=math.inf):
        crew.work(super().done, limit)
        return super().done()

    def in_time(self, limit):
        return self.done(limit) and self.ended <= limit

    def await_until(self, limit):
        if not self.in_time(limit) and max(self.ended, clock.passed) >= limit:
            raise TimeoutError()

    def result(self, timeout=None):
        self.await_until(limit_of(timeout))
        return super().result(timeout)

    def exception(self, timeout=None):
        self.await_until(limit_of(timeout))
        return super().exception(timeout)


class Pool(concurrent.futures.Executor):
    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        self._most, self._is_shut = min(max_workers or 8, 16), False
        if initializer is not None:
            initializer(*initargs)

    def submit(self, function, /, *given, **named):
        if self._is_shut:
            raise RuntimeError("cannot schedule new futures after shutdown")
        future = Promised()
        crew.add(Task(future, self._most, lambda: function(*given, **named)))
        return future

    def map(self, function, *series, timeout=None, chunksize=1, buffersize=None):
        limit = limit_of(timeout)
        futures = [self.submit(function, *each) for each in zip(*series)]
        return (result_until(future, limit) for future in futures)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._is_shut = True
        if wait:
            crew.work(lambda: False)


def result_until(future, limit):
    future.await_until(limit)
    return future.result()


def as_completed(futures, timeout=None):
    limit, futures = limit_of(timeout), list(dict.fromkeys(futures))
    if timeout is not None:
        futures.sort(key=lambda future: not future.in_time(limit))
    for place, future in enumerate(futures):
        if not future.in_time(limit):
            raise TimeoutError("%d (of %d) futures unfinished" % (len(futures) - place, len(futures)))
        yield future


def wait_for_all(futures, timeout=None, return_when="ALL_COMPLETED"):
    limit, futures = limit_of(timeout), set(futures)
    done = {future for future in futures if future.in_time(limit)}
    return concurrent.futures._base.DoneAndNotDoneFutures(done, futures - done)


async def in_place(function, /, *given, **named):
    return function(*given, **named)


def install_threads(has_threads):
    crew.has_threads = has_threads
    concurrent.futures.ThreadPoolExecutor = Pool
    concurrent.futures.as_completed, concurrent.futures.wait = as_completed, wait_for_all
    asyncio.to_thread = in_place
