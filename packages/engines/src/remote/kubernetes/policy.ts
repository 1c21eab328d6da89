/** Checks that the NetworkPolicies close the network of a script's pod. Policies add up: one that allows traffic opens it. */
import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import { labels, listIn, objectIn } from "./pod.ts";

export function policiesOf(namespace: string): string {
  return `/apis/networking.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/networkpolicies`;
}

/** Closes the network in both directions. An operator applies it once. Without such a policy no pod is created. */
export function networkPolicy(namespace: string): object {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "postern-scripts-reach-nothing", namespace },
    spec: {
      podSelector: { matchLabels: { [labels.script]: "true" } },
      policyTypes: ["Ingress", "Egress"],
      ingress: [],
      egress: [],
    },
  };
}

/** @returns why a pod with these labels could use the network; undefined when it cannot */
export function openIn(list: JsonObject, pod: Readonly<Record<string, string>>): string | undefined {
  let closesIn = false;
  let closesOut = false;
  for (const policy of listIn(list, "items")) {
    if (!isJsonObject(policy)) continue;
    const spec = objectIn(policy, "spec");
    if (!selects(objectIn(spec, "podSelector"), pod)) continue;
    const name = String(objectIn(policy, "metadata")["name"] ?? "");
    if (!isNothing(spec["ingress"]) || !isNothing(spec["egress"]))
      return `the NetworkPolicy \`${name.slice(0, 100)}\` lets something through to its pods`;
    const types = listIn(spec, "policyTypes");
    closesIn ||= types.length === 0 || types.includes("Ingress"); // the default is ingress
    closesOut ||= types.includes("Egress");
  }
  if (closesIn && closesOut) return undefined;
  return "no NetworkPolicy closes the network for its pods in both directions (docs/reference/engines.md has one to apply)";
}

function isNothing(rules: Json | undefined): boolean {
  return rules === undefined || rules === null || (Array.isArray(rules) && rules.length === 0);
}

function selects(selector: JsonObject, pod: Readonly<Record<string, string>>): boolean {
  const isAlike = Object.entries(objectIn(selector, "matchLabels")).every(([name, value]) => pod[name] === value);
  return isAlike && listIn(selector, "matchExpressions").every((one) => isJsonObject(one) && holds(one, pod));
}

function holds(expression: JsonObject, pod: Readonly<Record<string, string>>): boolean {
  const { key, operator } = expression;
  const value = typeof key === "string" && Object.hasOwn(pod, key) ? pod[key] : undefined;
  const isAmong = value !== undefined && listIn(expression, "values").includes(value);
  switch (operator) {
    case "In":
      return isAmong;
    case "NotIn":
      return !isAmong;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return true; // unknown operators count as selected
  }
}
