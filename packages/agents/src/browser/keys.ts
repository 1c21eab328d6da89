/** Names of keys as providers write them → Playwright's names. */
const named: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ alt: "Alt", option: "Alt", ctrl: "Control", control: "Control", shift: "Shift" },
    ...{ meta: "Meta", cmd: "Meta", command: "Meta", super: "Meta", win: "Meta" },
    ...{ enter: "Enter", return: "Enter", kp_enter: "Enter", tab: "Tab", space: " ", escape: "Escape", esc: "Escape" },
    ...{ backspace: "Backspace", delete: "Delete", del: "Delete", insert: "Insert", capslock: "CapsLock" },
    ...{ home: "Home", end: "End", pageup: "PageUp", page_up: "PageUp", prior: "PageUp" },
    ...{ pagedown: "PageDown", page_down: "PageDown", next: "PageDown", plus: "+", minus: "-" },
    ...{ left: "ArrowLeft", right: "ArrowRight", up: "ArrowUp", down: "ArrowDown" },
    ...{ arrowleft: "ArrowLeft", arrowright: "ArrowRight", arrowup: "ArrowUp", arrowdown: "ArrowDown" },
    ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, `F${i + 1}`])),
  }),
);
const modifiers: ReadonlySet<string> = new Set(["Alt", "Control", "Shift", "Meta"]);

export function isModifier(key: string): boolean {
  return modifiers.has(key);
}

/** Returns undefined when no key has this name. */
function keyOf(name: string): string | undefined {
  return [...name].length === 1 ? name : named.get(name.toLowerCase());
}

/** `ctrl+shift+t` in Playwright's names. Returns undefined when one of them is not a key. */
export function chordOf(text: string): readonly string[] | undefined {
  const parts = text === "+" ? ["+"] : text.split("+").map((part) => part.trim());
  const keys = parts.map(keyOf);
  return keys.every((key) => key !== undefined) ? keys : undefined;
}

/** Whether a chord writes a character into a field. */
export function isTyping(chord: readonly string[]): boolean {
  const [last = ""] = chord.slice(-1);
  const held = chord.slice(0, -1);
  // Ctrl+V writes what was copied.
  if (held.some((key) => key === "Control" || key === "Meta")) return last.toLowerCase() === "v";
  return !isModifier(last) && ([...last].length === 1 || (last === "Insert" && held.includes("Shift")));
}
