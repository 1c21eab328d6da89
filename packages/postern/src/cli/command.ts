/**
 * A command as an entry of a table: what is typed, its help, its flags, the route that it asks and how the answer is
 * printed.
 *
 * Next: output/print.ts (answers and lists), flags.ts (flags from the contract), calls.ts in commands/ (an example).
 */
import type { Command } from "commander";
import type { ExitCode } from "./exit-codes.ts";
import type { FieldFlags } from "./flags.ts";
import type { GlobalFlags, Host } from "./host.ts";
import { type AnswerCommand, type ListAnswer, type ListCommand, printAnswer, printList } from "./output/print.ts";

/** The words of `show <id> [file]` by their names. */
type WordValues<Typed extends string> = Typed extends `${infer First} ${infer Rest}`
  ? WordValue<First> & WordValues<Rest>
  : WordValue<Typed>;
type WordValue<Word extends string> = Word extends `<${infer Name}...>` | `[${infer Name}...]`
  ? { readonly [Key in Name]: readonly string[] }
  : Word extends `<${infer Name}>`
    ? { readonly [Key in Name]: string }
    : Word extends `[${infer Name}]`
      ? { readonly [Key in Name]: string | undefined }
      : object;

/** Flags that belong to no field, as commander declares them, with their help. */
type Options = Readonly<Record<string, string>>;
/** Their values by commander's names: `--run-id <id>` is `runId`. */
export type OptionValues<O extends Options> = { readonly [Flag in keyof O as OptionName<Flag>]?: OptionValue<Flag> };
type OptionName<Flag> = Flag extends `--${infer Name} ${string}` | `--${infer Name}` ? Camel<FirstWord<Name>> : never;
type FirstWord<Text extends string> = Text extends `${infer First} ${string}` ? First : Text;
type Camel<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;
type OptionValue<Flag> = Flag extends `${string} <${string}...>`
  ? readonly string[]
  : Flag extends `${string} <${string}>`
    ? string
    : Flag extends `${string} [${string}]`
      ? string | true
      : true;

/** What was typed, read and checked. */
export interface TypedCommand<Sent, O> {
  readonly host: Host;
  readonly flags: GlobalFlags;
  /** The words, and the flags that are fields of a route. */
  readonly sent: Sent;
  readonly options: O;
  /** Words after those that the command has. */
  readonly extraWords: readonly string[];
}

interface Entry<Fields extends object, O extends Options> {
  /** Runs when only the group is named. */
  readonly isDefault?: true;
  /** What the help says of a word: `{ "<file>": "…" }`. */
  readonly words?: Readonly<Record<string, string>>;
  readonly flags?: FieldFlags<Fields>;
  readonly options?: O;
  /** Extra words are for the command to refuse. */
  readonly takesExtraWords?: true;
}

type Sent<Typed extends string, Fields extends object> = WordValues<Typed> & Fields;

/** Checks what was typed and reads files, before a Postern is asked. Default: what was typed is sent. */
interface Preparation<Sent, O, Prepared> {
  readonly prepare?: (typed: TypedCommand<Sent, O>) => Prepared | Promise<Prepared>;
}

interface CommandBody<Given> {
  readonly run: (input: Given) => Promise<ExitCode>;
}

/** Runs a command's body and keeps its exit code. */
export type Act = (command: Command, run: (flags: GlobalFlags, options: object) => Promise<ExitCode>) => void;

/** `postern NAME`, and the commands below it. */
export class CommandGroup {
  readonly command: Command;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
  readonly #host: Host;
  readonly #act: Act;

  constructor(command: Command, host: Host, act: Act) {
    this.command = command;
    this.now = () => host.clock.now();
    this.#host = host;
    this.#act = act;
  }

  group(name: string, help: string): CommandGroup {
    return new CommandGroup(this.command.command(name).description(help), this.#host, this.#act);
  }

  /** The group is one command itself. @param typed the words after its name */
  own<Typed extends string, Fields extends object = object, const O extends Options = Options>(
    typed: Typed,
    entry: Entry<Fields, O> & CommandBody<TypedCommand<Sent<Typed, Fields>, OptionValues<O>>>,
  ): void {
    this.#define(this.command, typed.split(" "), entry);
  }

  run<Typed extends string, Fields extends object = object, const O extends Options = Options>(
    typed: Typed,
    help: string,
    entry: Entry<Fields, O> & CommandBody<TypedCommand<Sent<Typed, Fields>, OptionValues<O>>>,
  ): void {
    const [name = "", ...words] = typed.split(" ");
    const command = this.command.command(name, { isDefault: entry.isDefault === true }).description(help);
    this.#define(command, words, entry);
  }

  /** One request; prints its answer. */
  answer<
    Typed extends string,
    Answer,
    Fields extends object = object,
    const O extends Options = Options,
    Prepared = Sent<Typed, Fields>,
  >(
    typed: Typed,
    help: string,
    entry: Entry<Fields, O> &
      Preparation<Sent<Typed, Fields>, OptionValues<O>, Prepared> &
      AnswerCommand<Prepared, Answer>,
  ): void {
    this.run<Typed, Fields, O>(typed, help, {
      ...entry,
      run: async (input) => {
        const { host, flags, sent } = input;
        const prepared = entry.prepare === undefined ? sent : await entry.prepare(input);
        return printAnswer({ host, flags, sent: prepared as Prepared }, entry); // without `prepare` it is what was typed
      },
    });
  }

  /** Pages of one list; prints its rows as a table. */
  list<
    Typed extends string,
    Name extends string,
    Row,
    Page extends ListAnswer<Name, Row>,
    Fields extends object = object,
  >(
    typed: Typed,
    help: string,
    entry: Entry<Fields, Options> & ListCommand<Sent<Typed, Fields>, Name, Row, Page>,
  ): void {
    this.run<Typed, Fields>(typed, help, { ...entry, run: (input) => printList(input, entry) });
  }

  #define<Given>(command: Command, words: readonly string[], entry: Entry<object, Options> & CommandBody<Given>): void {
    for (const word of words) if (word !== "") command.argument(word, entry.words?.[word]);
    entry.flags?.addTo(command);
    if (entry.takesExtraWords === true) command.allowExcessArguments();
    for (const [flag, help] of Object.entries(entry.options ?? {})) command.option(flag, help);
    this.#act(command, (flags, options) => {
      const given = command.registeredArguments.map((word, i) => [word.name(), command.processedArgs[i]] as const);
      const sent = { ...Object.fromEntries(given), ...entry.flags?.read(options) };
      const extraWords = command.args.slice(given.length);
      return entry.run({ host: this.#host, flags, sent, options, extraWords } as Given); // as they were declared
    });
  }
}
