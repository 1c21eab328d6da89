import { clientFileText, clientServers, editFor } from "@postern/core";
import { expect, it } from "vitest";
import { formatOf } from "./client-edit.ts";

it.each(clientServers)("the text for $title that the console shows is what `connect` writes", async (client) => {
  const entry =
    "http" in client ? client.http("https://postern.example/mcp") : client.stdio("node", ["a b", "--stdio"]);
  const edit = editFor(client, entry);
  expect(clientFileText(client, edit)).toBe((await formatOf(client.format)).added("", edit));
});
