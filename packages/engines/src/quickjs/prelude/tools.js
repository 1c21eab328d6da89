// The object `tools`, made from the names in the setting, and the error for a name that does not exist.
const isTool = new WeakMap(),
  made = new Pairs(),
  servers = new Pairs();
/** Made on first use: most tools are never used, and a frozen script keeps every object. */
function toolNamed(name) {
  if (!mapHas(made, name)) mapSet(made, name, calling(name, stringify(name)));
  return mapGet(made, name);
}
function serverNamed([name, itself]) {
  if (!mapHas(servers, name)) mapSet(servers, name, offered(name, itself));
  return mapGet(servers, name);
}
function calling(name, written) {
  const tool = (given = {}, options = {}) => {
    // not async: an async function would add two turns of the job queue
    try {
      if (typeof given !== "object" || given === null || isArray(given) || weakHas(handles, given))
        throw new Wrong(
          "tools." + name + " takes one object of named arguments, as in tools." + name + "({ name: value }).",
        );
      return ask("call", name, given, options?.action, written);
    } catch (problem) {
      return new Later((_, reject) => reject(problem));
    }
  };
  weakSet(isTool, tool, name);
  return tool;
}
/** The entry of a path in the text that offered-names.ts writes. */
function entryOf(path) {
  const at = find(names, "\n[" + stringify(path) + ",");
  return at < 0 ? undefined : parse(slice(names, at + 1, find(names, "\n", at + 1)))[1];
}
/** All lines of that text. */
function lines() {
  return parse("[" + names.trim().split("\n").join(",") + "]");
}
/** The object `tools` or `tools.server`. It is callable if a tool has the same name. */
function offered(server, itself) {
  const title = server === null ? "tools" : "tools." + server,
    known = new Pairs();
  const found = (name) => {
    if (mapHas(known, name)) return mapGet(known, name);
    const path = server === null ? [name] : [server, name],
      entry = entryOf(path);
    if (entry === undefined) return undefined;
    const thing = typeof entry === "string" ? toolNamed(entry) : serverNamed(entry);
    mapSet(known, name, thing);
    return thing;
  };
  const isWithin = ([path]) => (server === null ? path.length === 1 : path.length === 2 && path[0] === server);
  const isOwn = ([, , isAlias]) => isAlias === undefined;
  const lastOf = ([path]) => path[path.length - 1];
  const within = () => lines().filter(isOwn).filter(isWithin).map(lastOf);
  const listed = () =>
    server === null
      ? lines()
          .filter(isOwn)
          .flatMap(([path, entry]) => (typeof entry === "string" ? path.join(".") : (entry[1] ?? [])))
      : within();
  const proxy = new Proxy(itself === null ? Object.create(null) : (...given) => toolNamed(itself)(...given), {
    get(_, name) {
      if (typeof name === "symbol") return undefined;
      const thing = found(name);
      if (thing !== undefined) return thing;
      if (name === "then" || name === "toJSON" || name === "constructor") return undefined;
      if (name[0] === "_") throw new Failure(title + "." + name + ": names that begin with _ are not tools.");
      throw new Failure(
        "There is no " + title + "." + name + ". " + instead(name, lines().filter(isWithin).map(lastOf), listed()),
      );
    },
    has: (_, name) => typeof name === "string" && found(name) !== undefined,
    ownKeys: () => within(),
    getOwnPropertyDescriptor(_, name) {
      const value = typeof name === "string" ? found(name) : undefined;
      return value === undefined ? undefined : { value, enumerable: true, configurable: true };
    },
    set() {
      throw new Wrong("Tools cannot be replaced.");
    },
    defineProperty() {
      throw new Wrong("Tools cannot be replaced.");
    },
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  });
  weakSet(isTool, proxy, title);
  return proxy;
}
function edits(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, n) => n);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++)
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1));
    row = next;
  }
  return row[other.length];
}
function instead(name, names, there) {
  let meant = "",
    least = name.length > 64 ? 0 : 1 + name.length / 3;
  for (const one of names) {
    const count = one.length > 64 ? 64 : edits(name.toLowerCase(), one.toLowerCase());
    if (count < least) [meant, least] = [one, count];
  }
  const listed = there.slice(0, 40).join(", ") + (there.length > 40 ? ", … (" + there.length + " in all)" : "");
  return (meant === "" ? "" : "Did you mean " + meant + "? ") + "There are: " + (listed || "none") + ".";
}
const tools = offered(null, null);
