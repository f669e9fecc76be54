/** A client by its version, or the Agent SDK's: `sdk`. */
import { join } from "node:path"
import { type Client, clientFor } from "./clients.ts"
import { fromNpm } from "./from-npm.ts"

export async function clientOrKit(version: string): Promise<{ client: Client; missing: string | undefined }> {
  if (version !== "sdk") return clientFor(version)
  const found = await fromNpm("@anthropic-ai/claude-agent-sdk@0.1.76", "agent-sdk-0.1.76")
  const node = Bun.which("node")
  if ("missing" in found || node === null)
    return {
      client: { version: "0.0.0", command: [] },
      missing: "missing" in found ? found.missing : "no node",
    }
  const file = join(found.modules, "@anthropic-ai", "claude-agent-sdk", "cli.js")
  return { client: { version: "2.0.76", command: [node, file] }, missing: undefined }
}
