/**
 * The frames of a page: which one lies under a point, and which one has the focus. Read over the DevTools protocol in
 * every process of the page, where the page's scripts cannot change the answer.
 * Invariant: an answer is sure. What cannot be read is `undefined`, and callers do not act on it.
 */
import type { CDPSession, Frame, Page } from "playwright-core";
import type { Point } from "./actions.ts";

/** A frame of another site runs in a process and session of its own. */
interface KnownFrame {
  readonly id: string;
  readonly parentId?: string | undefined;
  readonly url: string;
  readonly securityOrigin: string;
  readonly session: CDPSession;
}
type FrameTree = { readonly frame: Omit<KnownFrame, "session">; readonly childFrames?: readonly FrameTree[] };
type KnownFrames = ReadonlyMap<string, KnownFrame>;

/** The element of a frame that receives a pointer event. */
export interface FrameHit {
  /** `https://example.com`. Undefined when neither the frame nor the frames around it come from the web. */
  readonly origin: string | undefined;
  readonly session: CDPSession;
  readonly backendNodeId: number;
}

export interface FrameFocus {
  readonly origin: string | undefined;
  /** Whether the focus is in a field for a password or a card. */
  readonly isSecret: boolean;
}

interface NodeHit {
  readonly backendNodeId: number;
  readonly frameId: string;
  /** The frame that this element holds. */
  readonly innerId: string | undefined;
}

const secretField =
  'input[type="password"], [autocomplete*="password"], [autocomplete^="cc-"], [autocomplete="one-time-code"]';
const mostDepth = 20;
/** The getters of the prototype, because an element may be named `activeElement`. The page's scripts do not run here. */
const readFocus = `(() => {
  if (!Document.prototype.hasFocus.call(document)) return "none";
  const rootOf = Object.getOwnPropertyDescriptor(Element.prototype, "shadowRoot").get;
  let active = Object.getOwnPropertyDescriptor(Document.prototype, "activeElement").get.call(document);
  for (let root = active && rootOf.call(active); root?.activeElement; root = rootOf.call(active)) active = root.activeElement;
  return active !== null && Element.prototype.matches.call(active, ${JSON.stringify(secretField)}) ? "secret" : "plain";
})()`;

export class PageFrames {
  readonly #page: Page;
  readonly #main: CDPSession;
  readonly #sessions = new Map<Frame, CDPSession>();

  constructor(page: Page, main: CDPSession) {
    this.#page = page;
    this.#main = main;
    page.on("framedetached", (frame) => this.#sessions.delete(frame));
  }

  /** The origin of the page itself. Undefined when it does not come from the web. */
  async origin(): Promise<string | undefined> {
    const { frameTree } = await this.#main.send("Page.getFrameTree");
    return webOrigin(frameTree.frame.url);
  }

  /** The frame under a point of the page. Returns undefined when that is not clear. */
  async at(point: Point): Promise<FrameHit | undefined> {
    const frames = await this.#read();
    let [session, within]: [CDPSession, Point] = [this.#main, point];
    for (let depth = 0; depth < mostDepth; depth += 1) {
      const node = await nodeAt(session, within);
      const frame = node && frames.get(node.frameId);
      if (node === undefined || frame === undefined) return undefined;
      const hit = { origin: originOf(frame, frames), session, backendNodeId: node.backendNodeId };
      if (node.innerId === undefined) return hit;
      const inner = frames.get(node.innerId);
      if (inner === undefined) return undefined;
      if (inner.session === session) return hit; // its border, because a hit inside is reported as the inner element
      const there = await pointInside(session, node.backendNodeId, within, inner);
      if (there === undefined) return hit;
      [session, within] = [inner.session, there];
    }
    return undefined;
  }

  /** The frame that receives keys. Returns undefined when that is not clear. */
  async focus(): Promise<FrameFocus | undefined> {
    const frames = await this.#read();
    const read = await Promise.all([...frames.values()].map(async (frame) => [frame, await focusOf(frame)] as const));
    const focused = read.filter(([, focus]) => focus !== "none");
    // The frames around the focused one answer that they have the focus, too.
    const inmost = focused.filter(([{ id }]) => !focused.some(([{ parentId }]) => parentId === id));
    const [found] = inmost;
    if (found === undefined || inmost.length > 1 || found[1] === undefined) return undefined;
    return { origin: originOf(found[0], frames), isSecret: found[1] === "secret" };
  }

  async #read(): Promise<KnownFrames> {
    const known = new Map<string, KnownFrame>();
    const trees = this.#page.frames().map((frame) => this.#treeOf(frame));
    for (const found of await Promise.all(trees)) {
      const open = found === undefined ? [] : [found.tree];
      for (let tree = open.pop(); tree !== undefined && found !== undefined; tree = open.pop()) {
        known.set(tree.frame.id, { ...tree.frame, session: found.session });
        open.push(...(tree.childFrames ?? []));
      }
    }
    return known;
  }

  /** The frames of one process. Returns undefined for a frame that is in the process of its parent, or has left. */
  async #treeOf(frame: Frame): Promise<{ readonly session: CDPSession; readonly tree: FrameTree } | undefined> {
    if (frame === this.#page.mainFrame()) return treeIn(this.#main);
    const known = this.#sessions.get(frame);
    const tree = known && (await treeIn(known).catch(() => undefined)); // it has moved to another process
    if (tree !== undefined) return tree;
    try {
      const session = await this.#page.context().newCDPSession(frame);
      this.#sessions.set(frame, session);
      return await treeIn(session);
    } catch {
      this.#sessions.delete(frame);
      return undefined;
    }
  }
}

async function treeIn(session: CDPSession): Promise<{ readonly session: CDPSession; readonly tree: FrameTree }> {
  return { session, tree: (await session.send("Page.getFrameTree")).frameTree };
}

/** A frame without an address of its own, such as `about:srcdoc`, holds what the frame around it has written. */
function originOf(frame: KnownFrame, frames: KnownFrames): string | undefined {
  const own = webOrigin(frame.url) ?? webOrigin(frame.securityOrigin);
  const parent = frame.parentId === undefined ? undefined : frames.get(frame.parentId);
  return own ?? (parent && originOf(parent, frames));
}

/** `https://example.com`. Undefined when the text is not an address of the web. */
export function webOrigin(text: string): string | undefined {
  const origin = URL.parse(text)?.origin;
  return origin !== undefined && /^https?:/.test(origin) ? origin : undefined;
}

/** The protocol takes whole numbers. Between them, all neighbours must be in the same frame. */
async function nodeAt(session: CDPSession, [x, y]: Point): Promise<NodeHit | undefined> {
  const { cssVisualViewport: view } = await session.send("Page.getLayoutMetrics");
  const [left, top] = [x / view.scale + view.pageX, y / view.scale + view.pageY];
  const columns = new Set([Math.floor(left), Math.ceil(left)]);
  const rows = [...new Set([Math.floor(top), Math.ceil(top)])];
  const places = [...columns].flatMap((column) => rows.map((row) => [column, row] as const));
  const hits = await Promise.all(places.map(([column, row]) => wholeNodeAt(session, column, row)));
  const [first] = hits;
  const isClear = hits.every((hit) => hit?.frameId === first?.frameId && hit?.innerId === first?.innerId);
  return isClear ? first : undefined;
}

async function wholeNodeAt(session: CDPSession, x: number, y: number): Promise<NodeHit> {
  const { backendNodeId, frameId } = await session.send("DOM.getNodeForLocation", { x, y });
  const { node } = await session.send("DOM.describeNode", { backendNodeId });
  return { backendNodeId, frameId, innerId: node.frameId };
}

/** From the page's point to the point of an inner frame, which may be scaled, turned or skewed. Undefined: its border. */
async function pointInside(
  session: CDPSession,
  backendNodeId: number,
  point: Point,
  inner: KnownFrame,
): Promise<Point | undefined> {
  const { model } = await session.send("DOM.getBoxModel", { backendNodeId });
  const [across, down] = shareOf(model.content, point);
  if (!(across >= 0 && across <= 1 && down >= 0 && down <= 1)) return undefined;
  const size = await evaluate(inner, "[innerWidth, innerHeight].join()"); // with scroll bars, as the outer frame sees it
  const [width = 0, height = 0] = String(size).split(",").map(Number);
  return [across * width, down * height];
}

/** Where a point lies in a quadrilateral: [0, 0] is its first corner, [1, 1] its third. */
function shareOf(corners: readonly number[], [x, y]: Point): Point {
  const [x0 = 0, y0 = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] = corners;
  // The projective map from the unit square to the corners; without perspective, `g` and `h` are 0.
  const [dx, dy] = [x0 - x1 + x2 - x3, y0 - y1 + y2 - y3];
  const area = (x1 - x2) * (y3 - y2) - (x3 - x2) * (y1 - y2);
  const g = (dx * (y3 - y2) - (x3 - x2) * dy) / area;
  const h = ((x1 - x2) * dy - dx * (y1 - y2)) / area;
  const [a, b, d, e] = [x1 - x0 + g * x1, x3 - x0 + h * x3, y1 - y0 + g * y1, y3 - y0 + h * y3];
  // a·u + b·v + x0 = x·(g·u + h·v + 1), and the same for y
  const [au, bv, cu, dv] = [a - g * x, b - h * x, d - g * y, e - h * y];
  const whole = au * dv - bv * cu;
  return [((x - x0) * dv - bv * (y - y0)) / whole, (au * (y - y0) - (x - x0) * cu) / whole];
}

/** Undefined when the frame does not answer. */
async function focusOf(frame: KnownFrame): Promise<"none" | "plain" | "secret" | undefined> {
  const value = await evaluate(frame, readFocus).catch(() => undefined);
  return value === "none" || value === "plain" || value === "secret" ? value : undefined;
}

/** Runs in an isolated world: the frame's scripts share the elements, but not the functions. */
async function evaluate({ session, id }: KnownFrame, expression: string): Promise<unknown> {
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId: id,
    worldName: "postern",
  });
  return (await session.send("Runtime.evaluate", { expression, contextId })).result.value;
}
