/** What is ours in opencode's files: a plugin, which calls our hooks, and the server in its settings. */

import { readText } from "../../base/edited-file.ts"
import { CtxError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { existsSync } from "../../base/fs.ts"
import { join } from "../../base/path.ts"
import { expectOurBinary } from "../../claude/install/hooks-table.ts"
import type { WithOurs, WithoutOurs } from "../../claude/install/register.ts"
import type { Paths } from "../../config/load.ts"
import { OPENCODE_HOOKS } from "../opencode/opencode-hooks.ts"
import { CONFIG_NAMES, opencodeConfigFolder } from "../opencode/opencode-places.ts"
import type { AgentCheck, AgentFile, AgentInstaller } from "./agent-installers.ts"
import {
  addOpencodeServer,
  hasOpencodeServer,
  isEmptyConfig,
  removeOpencodeServer,
} from "./opencode-config.ts"
import PLUGIN from "./opencode-plugin.js" with { type: "text" }
import { looked, registering, serverCheck, versionCheck } from "./registered-checks.ts"

const { startsServer } = OPENCODE_HOOKS.other!
const AGENT = "opencode"
const NAME = "plugin"
/** How a plugin of ours begins, whichever version has written it. */
const OURS = "// ctxbridge: "

const pluginFor = (exePath: string): string => PLUGIN.replace('"@PROGRAM@"', () => JSON.stringify(exePath))

function addPlugin(text: string | undefined, exePath: string): WithOurs {
  expectOurBinary(exePath)
  const wanted = pluginFor(exePath)
  if (text === wanted) return { text, added: [], replaced: [] }
  const isBlank = text === undefined || text.trim() === ""
  if (!isBlank && !text.startsWith(OURS))
    throw new CtxError("settings-taken", "it is another plugin", { hint: "rename that one" })
  return { text: wanted, added: isBlank ? [NAME] : [], replaced: isBlank ? [] : [NAME] }
}

const removePlugin = (text: string): WithoutOurs =>
  text.startsWith(OURS) ? { text: "", removed: [NAME] } : { text, removed: [] }

const pluginFile = (places: Paths): string => join(opencodeConfigFolder(places), "plugins", "ctxbridge.js")

/** The one that counts most of those that are there. */
function configFile(places: Paths): string {
  const files = CONFIG_NAMES.map((name) => join(opencodeConfigFolder(places), name))
  const there = files.filter((file) => existsSync(file))
  return there.find((file) => isListing(file)) ?? there.at(-1) ?? files[1]!
}

function isListing(file: string): boolean {
  try {
    return hasOpencodeServer(readText(file))
  } catch {
    return false
  }
}

const files = (places: Paths, exePath: string): AgentFile[] => [
  {
    agent: AGENT,
    file: pluginFile(places),
    folderMode: 0o700,
    add: (text) => addPlugin(text, exePath),
    remove: removePlugin,
    isEmpty: (text) => text.trim() === "",
  },
  {
    agent: AGENT,
    file: configFile(places),
    isServers: true,
    // It may hold keys.
    isPrivate: true,
    folderMode: 0o700,
    add: (text) => addOpencodeServer(text, exePath),
    remove: removeOpencodeServer,
    isEmpty: isEmptyConfig,
  },
]

const checks = async (places: Paths, exePath: string): Promise<AgentCheck[]> => {
  const [plugin, config] = [pluginFile(places), configFile(places)]
  return [
    looked(plugin, (text) => pluginCheck(text, plugin, exePath)),
    looked(config, (text) => configCheck(text, config, places)),
    await versionCheck(AGENT, AGENT, ["1.18.33"]),
  ]
}

function configCheck(text: string | undefined, file: string, places: Paths): AgentCheck {
  const isListed = hasOpencodeServer(text)
  if (!isListed || startsServer(places, (one) => tryTo(() => readText(one))))
    return serverCheck(AGENT, file, isListed)
  const told = `the server is registered in ${file}, and switched off`
  return { state: "warn", text: told, hint: `take out "enabled": false there, or in a file beside it` }
}

function pluginCheck(text: string | undefined, file: string, exePath: string): AgentCheck {
  const hint = registering(AGENT)
  if (text === undefined) return { state: "skipped", text: "no plugin of ours is there", hint }
  const { replaced } = addPlugin(text, exePath)
  if (replaced.length === 0) return { state: "ok", text: `the plugin ${file} calls this ctxbridge` }
  const other = `the plugin ${file} is another version's, or calls another ctxbridge`
  return { state: "fail", text: other, hint, isMended: true }
}

export const OPENCODE_INSTALLER: AgentInstaller = {
  files,
  next: "start opencode again: it loads plugins when it starts",
  checks,
}
