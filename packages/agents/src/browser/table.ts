import { shown } from "@postern/core";
import { z } from "zod";
import type { BrowserAction, BrowserProvider, Chord, Point } from "./actions.ts";
import { chordOf, isModifier } from "./keys.ts";

/** From a provider's arguments to our action, in the units of the provider. */
type ActionReader = z.ZodType<BrowserAction | readonly BrowserAction[]>;
type Table = Readonly<Record<BrowserProvider, ReadonlyMap<string, ActionReader>>>;

const mostSeconds = 30;
const mostKeys = 50;
/** One notch of a wheel. */
const notch = 100;
const text = z.string().max(100_000);

const combination = (given: string): Chord => chordOf(given) ?? []; // `isChord` has refused invalid ones
const isChord = (given: string): boolean => chordOf(given) !== undefined;
const chord = z
  .string()
  .refine(isChord, { error: ({ input }) => `${shown(input)} is not a key or a combination of keys` });
const combo = chord.transform(combination);
/** Another key would go to the frame with the focus, while the action is judged by the frame under the pointer. */
const heldChord = chord.refine((given) => given === "" || combination(given).every(isModifier), {
  error: ({ input }) => `${shown(input)} cannot be held here, only Shift, Control, Alt and Meta`,
});
const held = heldChord.nullish().transform((given) => (given == null || given === "" ? [] : combination(given)));
const heldKeys = z
  .array(heldChord)
  .nullish()
  .transform((given) => (given ?? []).flatMap(combination));
const chords = z
  .string()
  .transform((given) => given.trim().split(/\s+/))
  .pipe(z.array(combo).min(1).max(mostKeys));
const seconds = z.number().min(0).max(mostSeconds);
const direction = z.enum(["up", "down", "left", "right"]);

function moved(to: z.infer<typeof direction>, distance: number): Point {
  if (to === "left" || to === "right") return [to === "left" ? -distance : distance, 0];
  return [0, to === "up" ? -distance : distance];
}

const at0 = z.number().min(0);
const xy = { x: at0, y: at0 };
const pair = z.tuple([at0, at0]);
/** Gemini counts from 0 to 999 across the page, whatever its size is. */
const step = at0.max(999);
const region = z
  .tuple([at0, at0, at0, at0])
  .refine(([x0, y0, x1, y1]) => x0 < x1 && y0 < y1, "the region is empty")
  .transform((to) => ({ do: "zoom" as const, region: to }));
const only = (action: BrowserAction): ActionReader => z.looseObject({}).transform(() => action);

const openai: Readonly<Record<string, ActionReader>> = {
  click: z
    .object({ ...xy, button: z.enum(["left", "right", "wheel", "back", "forward"]), keys: heldKeys })
    .transform(({ x, y, button, keys }): BrowserAction => {
      if (button === "back" || button === "forward") return { do: "history", to: button };
      return { do: "click", at: [x, y], button: button === "wheel" ? "middle" : button, count: 1, held: keys };
    }),
  double_click: z
    .object({ ...xy, keys: heldKeys })
    .transform(({ x, y, keys }) => ({ do: "click", at: [x, y], button: "left", count: 2, held: keys }) as const),
  drag: z
    .object({ path: z.array(z.object(xy)).min(2).max(1000), keys: heldKeys })
    .transform(
      ({ path, keys }) => ({ do: "drag", path: path.map(({ x, y }) => [x, y] as const), held: keys }) as const,
    ),
  keypress: z
    .object({ keys: z.array(chord).min(1) })
    .transform(({ keys }) => ({ do: "keys", chords: [keys.flatMap(combination)], times: 1, holdMs: 0 }) as const),
  move: z.object(xy).transform(({ x, y }) => ({ do: "move", at: [x, y] }) as const),
  screenshot: only({ do: "screenshot" }),
  scroll: z
    .object({ ...xy, scroll_x: z.number(), scroll_y: z.number(), keys: heldKeys })
    .transform(
      ({ x, y, keys, ...by }) => ({ do: "scroll", at: [x, y], by: [by.scroll_x, by.scroll_y], held: keys }) as const,
    ),
  type: z.object({ text }).transform((given) => ({ do: "type", text: given.text }) as const),
  wait: only({ do: "wait", ms: 1_000 }),
};

/** `coordinate` in the computer toolset, `target` in the browser toolset; without either, the pointer's position. */
const place = {
  coordinate: pair.nullish(),
  target: z.object({ type: z.literal("coordinate", "is an element reference; give a coordinate"), ...xy }).nullish(),
  text: held,
  modifiers: held,
};
interface PlacedAction {
  readonly coordinate?: Point | null | undefined;
  readonly target?: { readonly x: number; readonly y: number } | null | undefined;
}
const at = ({ coordinate, target: to }: PlacedAction): Point | undefined =>
  to ? [to.x, to.y] : (coordinate ?? undefined);
const clicks = (button: "left" | "right" | "middle", count: number): ActionReader =>
  z
    .object(place)
    .transform(
      (given) => ({ do: "click", at: at(given), button, count, held: [...given.text, ...given.modifiers] }) as const,
    );
const moves: ActionReader = z.object(place).transform((given, context): BrowserAction => {
  const to = at(given);
  if (to !== undefined) return { do: "move", at: to };
  context.addIssue("says no coordinate");
  return z.NEVER;
});
const anthropic: Readonly<Record<string, ActionReader>> = {
  key: z
    .object({ text: chords, repeat: z.int().min(1).max(100).nullish() })
    .transform((given) => ({ do: "keys", chords: given.text, times: given.repeat ?? 1, holdMs: 0 }) as const),
  hold_key: z
    .object({ text: combo, duration: seconds })
    .transform((given) => ({ do: "keys", chords: [given.text], times: 1, holdMs: given.duration * 1000 }) as const),
  type: z.object({ text }).transform((given) => ({ do: "type", text: given.text }) as const),
  cursor_position: only({ do: "cursor" }),
  mouse_move: moves,
  hover: moves,
  left_mouse_down: z.object(place).transform((given) => ({ do: "press", at: at(given) }) as const),
  left_mouse_up: z.object(place).transform((given) => ({ do: "release", at: at(given) }) as const),
  left_click: clicks("left", 1),
  right_click: clicks("right", 1),
  middle_click: clicks("middle", 1),
  double_click: clicks("left", 2),
  triple_click: clicks("left", 3),
  left_click_drag: z
    .object({ ...place, start_coordinate: pair.nullish(), from: place.target })
    .transform((given, context): BrowserAction => {
      const [from, to] = [at({ coordinate: given.start_coordinate, target: given.from }), at(given)];
      if (from !== undefined && to !== undefined) return { do: "drag", path: [from, to], held: given.text };
      context.addIssue("says no coordinate to begin or to end at");
      return z.NEVER;
    }),
  scroll: z
    .object({ ...place, scroll_direction: direction, scroll_amount: z.number().min(0).max(100).nullish() })
    .transform((given) => ({
      ...({ do: "scroll", at: at(given), held: given.text } as const),
      by: moved(given.scroll_direction, (given.scroll_amount ?? 3) * notch),
    })),
  wait: z.object({ duration: seconds }).transform((given) => ({ do: "wait", ms: given.duration * 1000 }) as const),
  screenshot: only({ do: "screenshot" }),
  zoom: z.object({ region }).transform((given) => given.region),
  navigate: z.object({ url: text }).transform(({ url }): BrowserAction => {
    if (url === "back" || url === "forward" || url === "reload") return { do: "history", to: url };
    return { do: "navigate", url };
  }),
  get_page_text: only({ do: "text" }),
};

const grounded = { x: step, y: step };
const google: Readonly<Record<string, ActionReader>> = {
  open_web_browser: only({ do: "screenshot" }),
  wait_5_seconds: only({ do: "wait", ms: 5_000 }),
  go_back: only({ do: "history", to: "back" }),
  go_forward: only({ do: "history", to: "forward" }),
  navigate: z.object({ url: text }).transform(({ url }) => ({ do: "navigate", url }) as const),
  click_at: z
    .object(grounded)
    .transform(({ x, y }) => ({ do: "click", at: [x, y], button: "left", count: 1, held: [] }) as const),
  hover_at: z.object(grounded).transform(({ x, y }) => ({ do: "move", at: [x, y] }) as const),
  type_text_at: z
    .object({
      ...grounded,
      text,
      press_enter: z.boolean().default(true),
      clear_before_typing: z.boolean().default(true),
    })
    .transform(({ x, y, ...given }): readonly BrowserAction[] => [
      { do: "click", at: [x, y], button: "left", count: 1, held: [] },
      ...(given.clear_before_typing ? [press("Control", "a"), press("Delete")] : []),
      { do: "type", text: given.text },
      ...(given.press_enter ? [press("Enter")] : []),
    ]),
  key_combination: z
    .object({ keys: chords })
    .transform(({ keys }) => ({ do: "keys", chords: keys, times: 1, holdMs: 0 }) as const),
  scroll_document: z
    .object({ direction })
    .transform((given) => ({ do: "scroll", by: moved(given.direction, 800), held: [] }) as const),
  scroll_at: z
    .object({ ...grounded, direction, magnitude: step.default(800) })
    .transform(
      ({ x, y, ...to }) => ({ do: "scroll", at: [x, y], by: moved(to.direction, to.magnitude), held: [] }) as const,
    ),
  drag_and_drop: z.object({ ...grounded, destination_x: step, destination_y: step }).transform(
    ({ x, y, ...to }) =>
      ({
        do: "drag",
        path: [
          [x, y],
          [to.destination_x, to.destination_y],
        ],
        held: [],
      }) as const,
  ),
};

function mapOf(readers: Readonly<Record<string, ActionReader>>): ReadonlyMap<string, ActionReader> {
  return new Map(Object.entries(readers));
}

function press(...keys: readonly string[]): BrowserAction {
  return { do: "keys", chords: [keys], times: 1, holdMs: 0 };
}

/** Provider's name → our action. Names that are missing here are refused as unknown. */
export const table: Table = { openai: mapOf(openai), anthropic: mapOf(anthropic), google: mapOf(google) };
