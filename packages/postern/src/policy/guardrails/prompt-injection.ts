import { checkGuardrailOptions, type PromptInjectionOptions } from "./guardrail-options.ts";
import type { Guardrail } from "./guardrails.ts";
import { withoutDisguise } from "./plain-text.ts";
import { textGuardrail } from "./text-guardrail.ts";

/**
 * Finds the common phrases that give orders to a model: "ignore all previous instructions", chat markup, "do not tell the
 * user". It finds simple attacks only: an order that is worded as a polite request passes. The permissions of the tools
 * limit an attack; this guardrail only reports one.
 *
 * @example
 * await createRuntime({ tools, guardrails: [promptInjection(), promptInjection({ on: "arguments" })] });
 *
 * @public
 */
export function promptInjection(options: PromptInjectionOptions = {}): Guardrail {
  checkGuardrailOptions("promptInjection", options, "prompt-injection");
  const find = (given: string): readonly string[] => {
    const text = plainText(given);
    const met = signs.find(({ pattern }) => pattern.test(text));
    return met === undefined ? [] : [met.why];
  };
  const effect = { arguments: "CONFIRM", result: "MARK" } as const;
  return textGuardrail({ name: "prompt-injection", on: "result", effect, find }, options);
}

/** Line breaks, emphasis and quotes hide a phrase from a search too. */
function plainText(text: string): string {
  return withoutDisguise(text)
    .replaceAll(/[\s_*"'`’“”]+/gu, " ")
    .toLowerCase();
}

/** Every repetition has a bound, so each pattern costs a fixed number of steps for each character. */
const signs: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  {
    pattern:
      /\b(?:ignore|disregard|forget|override|bypass|neglect)(?: (?:all|any|the|your|my|of|these|those|every|everything)){0,4} (?:previous|prior|earlier|preceding|above|foregoing|system|original|existing|initial|other)(?: [a-z]{1,20})? ?(?:instructions?|prompts?|directions?|directives?|rules?|guidelines?|messages?|context|commands?|text|tasks?)\b/,
    why: "it says to ignore earlier instructions",
  },
  {
    pattern:
      /\b(?:here are |these are |follow )?(?:your |the |my )?new (?:system )?(?:instructions?|prompt|rules|directives?|task)(?: (?:is|are))? ?[:.]/,
    why: "it announces new instructions",
  },
  {
    pattern:
      /\byou are (?:now|no longer) (?:in |an? |the |bound |restricted |limited )?(?:developer|dan|jailbr|unrestricted|debug|admin|root|god|by |free |evil|system)/,
    why: "it gives the model another role",
  },
  {
    pattern:
      /<\|?(?:im start|im end|system|endoftext|im_start|im_end)\|?>|\[\/?(?:inst|system)\]|<<\/?sys>>|<\/?(?:system|important|instructions?)>|#{2,4} ?(?:system|new instructions?)\b/,
    why: "it holds the markup of a chat",
  },
  {
    pattern:
      /\b(?:do not|don ?t|never|without)(?: ever)? (?:tell|inform|mention|notify|alert|telling|informing|mentioning|notifying|alerting|asking)(?: (?:this|it|of|to|about)){0,3} (?:the |any )?(?:users?|humans?|operators?|anyone|anybody|owner)\b/,
    why: "it wants something hidden from the user",
  },
  {
    pattern:
      /\b(?:dear|attention|hey|hello|note to|message (?:to|for)|instructions? (?:to|for)|important (?:message |note )?(?:to|for)) ?,? ?(?:the |any |all |you )?(?:ai|llms?|language models?|chatbots?|gpt|chatgpt|claude|gemini|copilot|ai assistants?|ai agents?|ai models?)\b/,
    why: "it speaks to a model",
  },
  {
    pattern:
      /\b(?:reveal|print|repeat|show|output|leak)(?: (?:me|us|all|of|the|your|back)){0,4} (?:system prompt|hidden prompt|initial prompt|hidden instructions|system instructions)\b/,
    why: "it asks for the system prompt",
  },
  {
    pattern:
      /\b(?:send|post|forward|upload|exfiltrate|e-?mail|transmit|submit)(?: [^ ]{1,30}){0,8} (?:passwords?|credentials?|api ?keys?|secrets?|private keys?|ssh keys?|access tokens?|chat history|system prompt)(?: [^ ]{1,30}){0,8} to\b/,
    why: "it asks to send secrets somewhere",
  },
];
