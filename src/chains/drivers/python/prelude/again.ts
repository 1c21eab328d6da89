/**
 * What makes a script the same when it is run again: its clock, its chance, and the order of its sets. Python 3.11 and newer.
 *
 * Why: an engine that cannot be frozen is replayed, and a call must then be the call it was. So time begins when the script
 * was first sent and moves on by what the script does, chance begins from the chain's id, and text has one hash everywhere
 * (the process is started with PYTHONHASHSEED). Nothing here is a secret, and nothing here is a wall.
 */
export const againSource: string = `import gc, queue, random, threading, time, uuid, weakref  # some of them keep the real clock: they wait by it


class Clock:
    """A look takes a microsecond, and a sleep its length. In nanoseconds."""

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
really = types.SimpleNamespace(**{name: getattr(time, name) for name in ("sleep", "gmtime", "localtime", "ctime", "asctime", "strftime")})
REAL_TIME = {getattr(time, name) for name in ("CLOCK_REALTIME", "CLOCK_TAI") if hasattr(time, name)}


def sleep(seconds, /):
    really.sleep(seconds)
    clock.slept(seconds)


def second_of(given):
    return clock.now() / 1e9 if given is None else given


def clock_gettime_ns(clock_id, /):
    return clock.now() if clock_id in REAL_TIME else clock.look()


def in_seconds(nanoseconds):
    return lambda *given: nanoseconds(*given) / 1e9


def strftime(format, given=None, /):
    return really.strftime(format, time.localtime() if given is None else given)


def asctime(given=None, /):
    return really.asctime(time.localtime() if given is None else given)


def tell_time():
    """The clock of the script in all places of Python's where there is one."""
    time.time_ns, time.time = clock.now, in_seconds(clock.now)
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        setattr(time, name, in_seconds(clock.look))
        setattr(time, name + "_ns", clock.look)
    time.clock_gettime, time.clock_gettime_ns, time.sleep = in_seconds(clock_gettime_ns), clock_gettime_ns, sleep
    for name in ("gmtime", "localtime", "ctime"):
        setattr(time, name, lambda given=None, /, real=getattr(really, name): real(second_of(given)))
    time.strftime, time.asctime = strftime, asctime
    (own,) = gc.get_referents(datetime.datetime.__dict__)  # in its place: the class stays what it is, to all that have it
    own["now"], own["utcnow"] = classmethod(date_now), classmethod(date_utcnow)
    sys._clear_type_cache()


def date_now(cls, tz=None):
    seconds, microsecond = divmod(clock.now() // 1000, 1000000)
    return cls.fromtimestamp(seconds, tz).replace(microsecond=microsecond)


def date_utcnow(cls):
    return date_now(cls, datetime.timezone.utc).replace(tzinfo=None)


source_of_chance = random.Random(0)
seed_random = random.Random.seed


def seed(self, a=None, version=2):
    seed_random(self, source_of_chance.getrandbits(256) if a is None else a, version)


def urandom(size, /):
    return source_of_chance.randbytes(size)


def take_chances():
    """One source of chance for all that Python has."""
    random.Random.seed = seed
    os.urandom = random._urandom = urandom
    os.getrandom = lambda size, flags=0: urandom(size)
    uuid._generate_time_safe = uuid._UuidCreate = None
    random.seed = lambda a=None, version=2: seed(random._inst, a, version)


numbers = {}


def number_of(thing):
    """Counts objects in the order in which somebody looks: where they lie in memory is another place every time."""
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
        return thing  # its slots have no room: it stays, and so does its number


class Plain:
    # Beneath the classes of a script that have nothing beneath them: an object shows and hashes as its number.
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
    """From here on all is as it was, if it was before."""
    clock.begun, clock.passed = started_ms * 1000000, 0
    source_of_chance.seed(seed_text)
    random.seed()


tell_time()
take_chances()
builtins.__build_class__ = build_plain
`;
