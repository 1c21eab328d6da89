/**
 * The policy's text in CodeMirror. It lives in a shadow root: there its styles are adopted, so that the page needs no
 * `<style>`, which the content policy refuses.
 */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { EditorState, type Text as Lines } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type ReactNode, useEffect, useRef } from "react";
import type { Mistake } from "./mistakes.ts";

type EditorProps = Readonly<{
  label: string;
  value: string;
  /** The number of the first line in its file. */
  first: number;
  onChange: (value: string) => void;
  /** What is wrong with a text. It is asked a moment after the last change. */
  mistakesIn: (text: string) => Promise<readonly Mistake[]>;
}>;

export function Editor(props: EditorProps): ReactNode {
  const { value, label, first } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => {
    const element = host.current;
    if (element === null) return undefined;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const { value: text } = latest.current;
    const lineSeparator = /\r\n/.test(text) && !/(?:^|[^\r])\n/.test(text) ? "\r\n" : "\n"; // what was not touched stays
    const opened = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorState.lineSeparator.of(lineSeparator),
          lineNumbers({ formatNumber: (line) => String(first + line - 1) }),
          ...[history(), highlightSpecialChars(), yaml(), syntaxHighlighting(colors), looks, lintGutter()],
          linter(async ({ state: { doc } }) => {
            const mistakes = await latest.current.mistakesIn(doc.toString());
            return mistakes.flatMap((mistake) => diagnosticOf(mistake, doc, first));
          }),
          keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]), // Tab leaves the editor
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.domEventHandlers({ beforeinput: typeOver }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.onChange(state.sliceDoc());
          }),
        ],
      }),
    });
    view.current = opened;
    // Outside of the shadow root a key looks as if it was pressed beside every field: no key of the page may take it.
    opened.dom.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    });
    return () => opened.destroy();
  }, [label, first]);
  useEffect(() => {
    const state = view.current?.state;
    if (state === undefined || state.sliceDoc() === value) return;
    view.current?.dispatch({ changes: { from: 0, to: state.doc.length, insert: state.toText(value) } });
  }, [value]);
  return <div ref={host} className="h-[28rem]" />;
}

/** The browser would keep the colours of what is replaced with inline styles, which the content policy refuses. */
function typeOver({ inputType, data }: InputEvent, { state, dispatch }: EditorView): boolean {
  if (inputType !== "insertText" || data === null || state.selection.main.empty) return false;
  dispatch(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
  return true; // then the browser does nothing
}

/** The whole line. Nothing for a mistake outside of the text. */
function diagnosticOf({ line = 0, message, severity }: Mistake, doc: Lines, first: number): readonly Diagnostic[] {
  const at = line - first + 1;
  if (at < 1 || at > doc.lines) return [];
  const { from, to, text } = doc.line(at);
  return [{ from: from + text.length - text.trimStart().length, to, message, severity }];
}

const color = (name: string): string => `var(--color-${name})`;

const colors = HighlightStyle.define([
  { tag: tags.comment, color: color("ink-3"), fontStyle: "italic" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: color("accent") },
  { tag: tags.string, color: color("safe") },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: color("high") },
]);

type Looks = Readonly<Record<string, string>>;

const wavy = (name: string): Looks => ({
  backgroundImage: "none", // the own one is a `data:` image, which the content policy refuses
  textDecoration: `underline wavy ${color(name)}`,
  textUnderlineOffset: "3px",
});
const sign = (name: string): Looks => ({ content: '"!"', color: color(name), fontWeight: "bold" });

const looks = EditorView.theme({
  "&": {
    height: "100%",
    overflow: "hidden",
    borderRadius: "0 0 8px 8px",
    color: color("ink"),
    backgroundColor: color("surface"),
    fontSize: "0.9286em",
  },
  "&.cm-focused": { outline: `2px solid ${color("accent")}` },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: color("ink"), padding: "8px 0" },
  ".cm-gutters": {
    backgroundColor: color("sunken"),
    color: color("ink-3"),
    borderRight: `1px solid ${color("line")}`,
  },
  ".cm-lintRange-error": wavy("critical"),
  ".cm-lintRange-warning": wavy("medium"),
  ".cm-lint-marker": { content: "normal", textAlign: "center" }, // its sign is an image too
  ".cm-lint-marker-error::before": sign("critical"),
  ".cm-lint-marker-warning::before": sign("medium"),
  ".cm-tooltip": {
    backgroundColor: color("raised"),
    color: color("ink"),
    border: `1px solid ${color("line-strong")}`,
    borderRadius: "6px",
    maxWidth: "36rem",
  },
  ".cm-panel": { backgroundColor: color("sunken"), color: color("ink") },
});
