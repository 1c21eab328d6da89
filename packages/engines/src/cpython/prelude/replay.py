# Makes a script the same when it runs again: its clock, its random numbers, the order of its sets. Python 3.11 and newer.
#
# Why: an engine that cannot be frozen replays a script, and each call must then be the call it was. Time begins when the
# script first arrived and moves with what the script does. Random numbers come from the script's id. Text has one hash
# everywhere (PYTHONHASHSEED). Nothing here is a secret and nothing here isolates.
import gc, queue, random, threading, time, uuid, weakref  # imported before the clock changes: they wait by the real one


class Clock:
    """Nanoseconds. Reading the clock takes a microsecond, a sleep takes its length."""

    def __init__(self):
        self.begun, self.passed = 0, 0

    def look(self):
        self.passed += 1000
        return self.passed

    def now(self):
        return self.begun + self.look()

    def slept(self, seconds):
        self.passed += int(seconds * 1e9)


clock = Clock()
real_time = types.SimpleNamespace(**{name: getattr(time, name) for name in ("sleep", "gmtime", "localtime", "ctime", "asctime", "strftime")})
REAL_TIME = {getattr(time, name) for name in ("CLOCK_REALTIME", "CLOCK_TAI") if hasattr(time, name)}


def sleep(seconds, /):
    real_time.sleep(seconds)
    clock.slept(seconds)


def second_of(given):
    return clock.now() / 1e9 if given is None else given


def clock_gettime_ns(clock_id, /):
    return clock.now() if clock_id in REAL_TIME else clock.look()


def in_seconds(nanoseconds):
    return lambda *given: nanoseconds(*given) / 1e9


def strftime(format, given=None, /):
    return real_time.strftime(format, time.localtime() if given is None else given)


def asctime(given=None, /):
    return real_time.asctime(time.localtime() if given is None else given)


def install_clock():
    """Puts the script's clock in all modules of Python that tell the time."""
    time.time_ns, time.time = clock.now, in_seconds(clock.now)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, in_seconds(clock.look))
        setattr(time, name + "_ns", clock.look)
    time.clock_gettime, time.clock_gettime_ns, time.sleep = in_seconds(clock_gettime_ns), clock_gettime_ns, sleep
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, lambda given=None, /, real=getattr(real_time, name): real(second_of(given)))
    time.strftime, time.asctime = strftime, asctime
    (own,) = gc.get_referents(datetime.datetime.__dict__)  # changed in place: every module keeps the same class
    own["now"], own["utcnow"] = classmethod(date_now), classmethod(date_utcnow)
    sys._clear_type_cache()


def date_now(cls, tz=None):
    seconds, microsecond = divmod(clock.now() // 1000, 1000000)
    return cls.fromtimestamp(seconds, tz).replace(microsecond=microsecond)


def date_utcnow(cls):
    return date_now(cls, datetime.timezone.utc).replace(tzinfo=None)


random_source = random.Random(0)
seed_random = random.Random.seed


def seed(self, a=None, version=2):
    seed_random(self, random_source.getrandbits(256) if a is None else a, version)


def urandom(size, /):
    return random_source.randbytes(size)


def install_random():
    """Feeds every random number of Python from one seeded source."""
    random.Random.seed = seed
    os.urandom = random._urandom = urandom
    os.getrandom = lambda size, flags=0: urandom(size)
    uuid._generate_time_safe = uuid._UuidCreate = None
    random.seed = lambda a=None, version=2: seed(random._inst, a, version)


numbers = {}


def number_of(thing):
    """Numbers objects in the order in which a script looks at them: their addresses differ in every run."""
    known = numbers.get(id(thing))
    if known is None:
        number_of.last += 1
        known = numbers[id(thing)] = (number_of.last, kept(thing))
    return known[0]


number_of.last = 0


def kept(thing):
    try:
        return weakref.ref(thing, lambda _, key=id(thing): numbers.pop(key, None))
    except TypeError:
        return thing  # has no weak references: the object and its number stay


class Plain:
    # The base of a script's classes that have none: objects show and hash as their number.
    __slots__ = ()

    def __repr__(self):
        return "<%s.%s object at 0x%012x>" % (type(self).__module__, type(self).__qualname__, number_of(self))

    def __hash__(self):
        return number_of(self)


build_class = builtins.__build_class__


def build_plain(body, name, /, *bases, **named):
    is_plain = bases in ((), (object,)) and not named and body.__code__.co_filename == SCRIPT
    return build_class(body, name, *((Plain,) if is_plain else bases), **named)


def repeat(seed_text, started_ms):
    """Starts the clock and the random numbers of a script, the same in every run."""
    clock.begun, clock.passed = started_ms * 1000000, 0
    random_source.seed(seed_text)
    random.seed()


install_clock()
install_random()
builtins.__build_class__ = build_plain
