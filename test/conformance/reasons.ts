/** Why scenarios end as they do where a demand or a recommendation of the suite cannot be met. */

/** For a client of 2026-07-28 with a server of 2025-11-25. The other way round every scenario passes. */
export const unrepresentable: Readonly<Record<string, string>> = {
  "input-required-result-basic-elicitation":
    "The scenario reads the question by the server's own name for it. A question of 2025-11-25 has no name; the client gets it as `only`.",
  "input-required-result-multiple-input-requests":
    "The scenario wants three questions in one answer. A server of 2025-11-25 asks by one request at a time, so the client gets them in three rounds.",
  "input-required-result-capability-check":
    "The server is told of the client's capabilities with each call in 2026-07-28, and once for all clients in 2025-11-25. It asks for what this client lacks, and the client gets the error -32021 instead of a question that it can answer.",
};

/** Recommendations that are not followed, in any leg. */
export const notFollowed: Readonly<Record<string, string>> = {
  "input-required-result-ignore-extra-params":
    "The scenario sends answers with a first request, which were never asked for and carry no `requestState`. Postern takes answers only to its own questions, once, and asks. Members that are not known are ignored in answers to a question.",
};
