/**
 * One text of a client's server, as Postern writes it: its references become those of our configuration, and a literal
 * secret becomes a reference to the secret store. No secret stays in the text.
 */

import { isRecord } from "@postern/core";
import { secretsUnder } from "../../secrets/configured-values.ts";
import type { SecretPatterns } from "../../secrets/patterns.ts";

/** The place of a text in the file of a client. */
export interface TextPlace {
  readonly server: string;
  /** What the text belongs to: a variable, a header, an option, `url`. */
  readonly name: string;
  /** For people: `env.TOKEN`. */
  readonly where: string;
}

/** A secret of an imported server. */
export interface ImportedSecret {
  readonly connector: string;
  readonly key: string;
  readonly where: string;
  /** Undefined if the file does not hold it. */
  readonly value?: string;
}

/** A variable that must be set where Postern runs. */
export interface ImportedVariable {
  readonly name: string;
  /** Why it is needed, if the client does not read the same variable. */
  readonly why?: string;
}

/** What the texts of one file refer to. */
export interface TextSources {
  readonly patterns: SecretPatterns;
  /** The array `inputs` of VS Code. */
  readonly inputs: readonly unknown[];
  /** What `${workspaceFolder}` stands for. */
  readonly project: string;
}

export interface ImportedText {
  readonly text: string;
  readonly secrets: readonly ImportedSecret[];
  readonly variables: readonly ImportedVariable[];
}

type Piece =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string; readonly fallback?: string; readonly why?: string }
  | { readonly kind: "secret"; readonly id: string };

/** A text that may hold `secret://connector/key`: in `env`, `headers` and `url`. */
export function withSecretReferences(text: string, place: TextPlace, sources: TextSources): ImportedText {
  const pieces = piecesOf(text, sources);
  const variables = variablesIn(pieces);
  const asked = pieces.filter((piece) => piece.kind === "secret");
  const hasSecret = secretIn(pieces, place.name, sources.patterns);
  if (asked.length === 0 && hasSecret === undefined) return { text: written(pieces), secrets: [], variables };
  const [only] = asked;
  if (
    asked.length === 1 &&
    only !== undefined &&
    variables.length === 0 &&
    hasSecret === undefined &&
    standsAlone(pieces)
  ) {
    const secret = secretOf(place, only.id);
    return { text: written(pieces, () => referenceTo(secret)), secrets: [secret], variables: [] };
  }
  const secret = secretOf(place, place.name);
  if (pieces.some(({ kind }) => kind !== "literal"))
    // parts of it are elsewhere, so the whole text must be stored by hand
    return { text: referenceTo(secret), secrets: [secret], variables: [] };
  const value = hasSecret ?? text;
  const before = text.slice(0, text.length - value.length);
  return { text: before + referenceTo(secret), secrets: [{ ...secret, value }], variables: [] };
}

/** A text of `command`, `args` or `cwd`, where the store is not read: secrets become variables of Postern's environment. */
export function withVariables(text: string, place: TextPlace, sources: TextSources): ImportedText {
  const pieces = piecesOf(text, sources).map((piece): Piece => {
    if (piece.kind !== "secret") return piece;
    return { kind: "variable", name: variableName(piece.id), why: `${place.where} asks for \`${piece.id}\`` };
  });
  const found = secretIn(pieces, place.name, sources.patterns);
  if (found === undefined) return { text: written(pieces), secrets: [], variables: variablesIn(pieces) };
  const name = variableName(`${place.server}_${place.name}`);
  const why = `${place.where} holds a secret, which every user of this machine can read while the program runs; if the program can read it in \`env\`, give it there`;
  const before = text.endsWith(found) ? text.slice(0, text.length - found.length) : "";
  return { text: `${before}\${${name}}`, secrets: [], variables: [{ name, why }] };
}

/** Whether the text holds a literal secret. */
export function holdsSecret(text: string, name: string, sources: TextSources): boolean {
  return secretIn(piecesOf(text, sources), name, sources.patterns) !== undefined;
}

const reference = /\$\{([^{}]*)\}/g;
const variable = /^(?:env:)?([A-Za-z_]\w*)(?::-(.*))?$/s;

function piecesOf(text: string, sources: TextSources): readonly Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(reference)) {
    if (found.index > at) pieces.push({ kind: "literal", text: text.slice(at, found.index) });
    pieces.push(pieceOf(found[1] ?? "", sources));
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ kind: "literal", text: text.slice(at) });
  return pieces;
}

function pieceOf(inner: string, { inputs, project }: TextSources): Piece {
  const [word = "", rest] = inner.split(/:(.*)/s);
  if (word === "input") return inputPiece(rest ?? "", inputs);
  if (word === "userHome") return { kind: "variable", name: "HOME" };
  if (word === "workspaceFolder" || word === "workspaceRoot") return { kind: "literal", text: project };
  if (word === "workspaceFolderBasename") return { kind: "literal", text: project.split(/[\\/]/).at(-1) ?? "" };
  if (word === "pathSeparator" || word === "/") return { kind: "literal", text: "/" };
  const [, name, fallback] = variable.exec(inner) ?? [];
  if (name !== undefined) return { kind: "variable", name, ...(fallback !== undefined && { fallback }) };
  return { kind: "variable", name: variableName(inner), why: `Postern has nothing like \`\${${inner}}\`` };
}

function inputPiece(id: string, inputs: readonly unknown[]): Piece {
  const found = inputs.find((one) => isRecord(one) && one["id"] === id);
  const input: Readonly<Record<string, unknown>> = isRecord(found) ? found : {};
  if (input["password"] === true) return { kind: "secret", id };
  const preset = input["default"];
  if (typeof preset === "string") return { kind: "literal", text: preset };
  return { kind: "variable", name: variableName(id), why: `the client asks for \`${id}\`` };
}

/** Without `reference`: no piece is a secret. */
function written(pieces: readonly Piece[], reference: () => string = () => ""): string {
  return pieces
    .map((piece) => {
      if (piece.kind === "literal") return piece.text;
      if (piece.kind === "secret") return reference();
      return piece.fallback === undefined ? `\${${piece.name}}` : `\${${piece.name}:-${piece.fallback}}`;
    })
    .join("");
}

function variablesIn(pieces: readonly Piece[]): readonly ImportedVariable[] {
  return pieces.flatMap((piece) =>
    piece.kind === "variable" && piece.fallback === undefined
      ? [{ name: piece.name, ...(piece.why !== undefined && { why: piece.why }) }]
      : [],
  );
}

/** A reference ends where its name could not go on. */
function standsAlone(pieces: readonly Piece[]): boolean {
  const at = pieces.findIndex(({ kind }) => kind === "secret");
  const next = pieces[at + 1];
  return next === undefined || (next.kind === "literal" && !/^[\p{L}\p{N}_./-]/u.test(next.text));
}

/** A value that is not known, in the place of a reference: it fits where a host or a port is. */
const unknownValue = "1";
/** Names of which even a number is a secret, and those that masking does not know. */
const namedSecret = /(?:token|key|secret|password|passwd|pwd|(?:^|[-_])(?:pass|pat))$/i;
/** A secret inside a text: a connection string, or headers as JSON. */
const innerSecret =
  /(?:passw(?:or)?d|pwd|secret|token|(?:api|access|account)[-_]?key|authorization)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?(?!bearer|basic)[^\s"',;}]{6}/i;
const harmlessValue = /^(?:true|false|none|null|(?:\/|\.{1,2}\/|~).*)$/i;
const fewestCharacters = 6;

/** Returns the secret at the end of the literal text, else the whole text if a secret is anywhere in it. */
function secretIn(pieces: readonly Piece[], name: string, patterns: SecretPatterns): string | undefined {
  const isWhole = pieces.every(({ kind }) => kind === "literal");
  const text = pieces.map((piece, at) => (piece.kind === "literal" ? piece.text : standIn(pieces, at))).join("");
  if (text.includes("secret://")) return text; // in a client's file it is no reference, so it must not become one
  const fallbacks = pieces.flatMap((piece) => (piece.kind === "variable" ? [piece.fallback ?? ""] : []));
  if (fallbacks.some((fallback) => secretIn([{ kind: "literal", text: fallback }], name, patterns) !== undefined))
    return text;
  const parts = secretsUnder(name, text).filter((part) => isWhole || part !== unknownValue);
  const [first = ""] = parts;
  if (parts.length === 1 && first.length >= fewestCharacters && text.endsWith(first)) return first;
  if (parts.length > 0 || innerSecret.test(text) || patterns.suspects(text).length > 0) return text;
  const value = text.trim();
  return isWhole && namedSecret.test(name) && value.length >= fewestCharacters && !harmlessValue.test(value)
    ? text
    : undefined;
}

/** At the start of a text, what follows says whether a reference stands for the start of an address. */
function standIn(pieces: readonly Piece[], at: number): string {
  const next = pieces[at + 1];
  const following = next?.kind === "literal" ? next.text : "";
  if (at > 0 || !/^[/:]/.test(following)) return unknownValue;
  return following.startsWith("://") ? "https" : `https://${unknownValue}`;
}

function secretOf({ server, name, where }: TextPlace, key: string): ImportedSecret {
  const clean = key
    .replace(/[^\w.-]/g, "_")
    .replace(/^[.-]+/, "")
    .slice(0, 128);
  return { connector: server, key: clean === "" ? name.replace(/\W/g, "_") : clean, where };
}

function referenceTo({ connector, key }: ImportedSecret): string {
  return `secret://${connector}/${key}`;
}

/** `api-token` is API_TOKEN. */
export function variableName(words: string): string {
  const name = words
    .replace(/\W+/g, "_")
    .replace(/^_+|_+$/g, "")
    .toUpperCase();
  return /^[A-Z_]/.test(name) ? name : `_${name}`;
}
