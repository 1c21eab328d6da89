import { defined, type JsonObject, messageOf, parseStrict } from "@postern/core";
import type { z } from "zod";
import { lazySchema } from "../../checks/zod.ts";
import type { DecisionReceiver, Incoming, Received } from "./decisions.ts";
import { callSlack, type SlackOptions } from "./slack-api.ts";
import { approveAction, denyAction, type PressedButton } from "./slack-app.ts";
import type { WebhookDependencies } from "./webhook.ts";

/** What Slack is answered: nothing, that its dialog closes, or what is wrong with a field of it. */
export type SlackReceived =
  | Extract<Received, { readonly taken: false }>
  | { readonly taken: true; readonly answer: DialogAnswer };

export interface DialogAnswer {
  readonly response_action?: "clear" | "errors";
  readonly errors?: Readonly<Record<string, string>>;
}

interface SlackReceiverOptions extends Pick<WebhookDependencies, "reveal" | "resolve"> {
  readonly decisions: DecisionReceiver;
  readonly log: (problem: string) => void;
}

/** Slack waits three seconds for an answer, and a dialog must open within them. */
const answerMs = 2_500;
const reasonField = "reason";

/** Receives the presses of buttons and the dialogs of Slack's apps. What they decide passes `DecisionReceiver`. */
export class SlackReceiver {
  readonly #apps: ReadonlyMap<string, SlackOptions>;
  readonly #options: SlackReceiverOptions;

  constructor(apps: readonly SlackOptions[], options: SlackReceiverOptions) {
    this.#apps = new Map(apps.map((app) => [app.name, app]));
    this.#options = options;
  }

  async receive(name: string, incoming: Incoming): Promise<SlackReceived> {
    const refused = await this.#options.decisions.verify(name, incoming, "slack");
    const app = this.#apps.get(name);
    if (refused !== undefined || app === undefined)
      return refused ?? { taken: false, code: "channel_unknown", message: "There is no such app of Slack." };
    const payload = payloadIn(incoming.body);
    if (payload === undefined) return { taken: true, answer: {} }; // an action of another kind
    const { user } = payload;
    if (payload.type === "view_submission") {
      const { value: reason } = payload.view.state.values[reasonField]?.[reasonField] ?? {};
      const pressed = pressedIn(payload.view.private_metadata);
      const decision = defined({ ...pressed, user: user.id, decision: "denied" as const, reason: reason ?? undefined });
      const problem = problemOf(await this.#options.decisions.take(name, replayIdOf(incoming), decision));
      const errors = problem === undefined ? undefined : { [reasonField]: problem };
      return {
        taken: true,
        answer: errors === undefined ? { response_action: "clear" } : { response_action: "errors", errors },
      };
    }
    const [action] = payload.actions;
    if (action?.value === undefined) return { taken: true, answer: {} }; // a link
    if (action.action_id === denyAction) await this.#ask(app, payload.trigger_id, action.value);
    if (action.action_id !== approveAction) return { taken: true, answer: {} };
    const decision = { ...pressedIn(action.value), user: user.id, decision: "approved" as const };
    const problem = problemOf(await this.#options.decisions.take(name, replayIdOf(incoming), decision));
    const thread = payload.container.message_ts;
    if (problem !== undefined)
      await this.#call(
        app,
        "chat.postEphemeral",
        defined({ channel: app.channel, user: user.id, text: problem, thread_ts: thread }),
      );
    return { taken: true, answer: {} };
  }

  async #ask(app: SlackOptions, trigger: string, metadata: string): Promise<void> {
    await this.#call(app, "views.open", { trigger_id: trigger, view: reasonDialog(metadata) });
  }

  async #call(app: SlackOptions, method: string, sent: JsonObject): Promise<void> {
    const problem = await callSlack(app, this.#options, [method, sent], AbortSignal.timeout(answerMs)).then(
      (answer) => (answer.ok ? undefined : answer.failed.problem),
      messageOf,
    );
    if (problem !== undefined) this.#options.log(`The channel \`${app.name}\` could not answer a press: ${problem}`);
  }
}

function reasonDialog(metadata: string): JsonObject {
  const text = (words: string): JsonObject => ({ type: "plain_text", text: words });
  return {
    ...{ type: "modal", private_metadata: metadata },
    ...{ title: text("Deny this call"), submit: text("Deny"), close: text("Back") },
    blocks: [
      {
        ...{ type: "input", block_id: reasonField, optional: true, label: text("Why (the agent reads it)") },
        element: { type: "plain_text_input", action_id: reasonField, multiline: true, max_length: 2_000 },
      },
    ],
  };
}

/** Slack sends no id. The same message has the same signature. */
function replayIdOf({ signature }: Incoming): Pick<Incoming, "id"> {
  return { id: signature };
}

/** Why nothing was decided, as plain text. */
function problemOf(received: Received): string | undefined {
  const message = received.taken ? (received.decided.decided ? undefined : received.decided.message) : received.message;
  return message?.replaceAll("`", "").slice(0, 500);
}

const schemas = lazySchema((zod) => {
  const user = zod.object({ id: zod.string() });
  const field = zod.object({ value: zod.string().nullish() });
  return {
    payload: zod.discriminatedUnion("type", [
      zod.object({
        ...{ type: zod.literal("block_actions"), user, trigger_id: zod.string() },
        container: zod.object({ message_ts: zod.string().optional() }),
        actions: zod.array(zod.object({ action_id: zod.string(), value: zod.string().optional() })),
      }),
      zod.object({
        ...{ type: zod.literal("view_submission"), user },
        view: zod.object({
          private_metadata: zod.string(),
          state: zod.object({ values: zod.record(zod.string(), zod.record(zod.string(), field)) }),
        }),
      }),
    ]),
    pressed: zod.object({ approval_id: zod.string(), expected_digest: zod.string() }),
  };
});

function payloadIn(body: string): z.infer<ReturnType<typeof schemas>["payload"]> | undefined {
  const parsed = parseStrict(new URLSearchParams(body).get("payload") ?? "");
  const read = "value" in parsed ? schemas().payload.safeParse(parsed.value) : undefined;
  return read?.success === true ? read.data : undefined;
}

/** The signature says that it is what Postern wrote. */
function pressedIn(value: string): PressedButton {
  const parsed = parseStrict(value);
  const read = schemas().pressed.safeParse("value" in parsed ? parsed.value : undefined);
  return read.success ? read.data : { approval_id: "", expected_digest: "" };
}
