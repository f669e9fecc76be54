/**
 * The files of the plugin in `plugin/` that say what Claude Code is to load, made from the same table as an install.
 * `npm run docs` writes them; its scripts, commands and skill lie there as they are.
 */
import { hookEntry } from "../src/claude/hooks.ts"
import { HOST_EVENTS, hookName } from "../src/claude/install/hooks-table.ts"
import { SERVER_NAME, SERVERS } from "../src/claude/our-server.ts"

const NAME = "ctxbridge"
const DESCRIPTION = "A memory that compaction, /clear and the 30-day clean-up cannot destroy"

/** The folder of the plugin, as Claude Code sets it. The quotes are for a path with spaces. */
const RUN = `\${CLAUDE_PLUGIN_ROOT}/run.sh`

/** By path, relative to the repository, which is the marketplace. */
export function publicPluginFiles(version: string): Map<string, string> {
  const hooks = HOST_EVENTS.map(
    (event) => [event, [hookEntry(`sh "${RUN}" hook ${hookName(event)}`, event)]] as const,
  )
  return new Map([
    [
      ".claude-plugin/marketplace.json",
      json({
        name: NAME,
        // Newer clients also know `description` beside it, which 2.1.112 refuses.
        metadata: { description: DESCRIPTION },
        owner: { name: NAME },
        plugins: [{ name: NAME, source: "./plugin", description: DESCRIPTION }],
      }),
    ],
    [
      "plugin/.claude-plugin/plugin.json",
      json({ name: NAME, version, description: DESCRIPTION, author: { name: NAME }, license: "MIT" }),
    ],
    ["plugin/hooks/hooks.json", json({ hooks: Object.fromEntries(hooks) })],
    ["plugin/.mcp.json", json({ [SERVERS]: { [SERVER_NAME]: { command: "sh", args: [RUN, "mcp"] } } })],
  ])
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`
