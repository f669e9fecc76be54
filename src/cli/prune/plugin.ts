/** `ctxbridge prune plugin`: a plugin that answers Claude Code's compactions, and back. */
import { version } from "../../../package.json"
import { installedClients } from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/install-lock.ts"
import { pluginFolder, pluginWay, revertPlugin, setPlugin } from "../../pruners/plugin/set-plugin.ts"
import { CtxError } from "../../util/errors.ts"
import { wholePath } from "../block.ts"
import type { Context } from "../command.ts"
import { safe } from "../style.ts"

export async function prunePlugin({ args, env, out }: Context): Promise<void> {
  const options = { ...env, dryRun: args["dry-run"] === true }
  const folder = pluginFolder(env)
  if (args["revert"] === true) {
    const change = oneAtATime(env.home, () => revertPlugin(options))
    const isNone = change.action === "none"
    const verb = options.dryRun ? "Would remove" : "Removed"
    out.print(
      safe(
        isNone
          ? `Nothing to remove from ${wholePath(change.file)}`
          : `${verb} the plugin from ${wholePath(change.file)}`,
      ),
    )
    out.json({ ...change, folder })
    return
  }
  const [client] = await installedClients(env.home)
  const unsupported = client && pluginWay(client, env).unsupported
  if (unsupported !== undefined)
    throw new CtxError("unsupported", `a plugin cannot answer compactions: ${unsupported}`, {
      hint: "ctxbridge prune recommend says what works here",
    })
  const change = oneAtATime(env.home, () => setPlugin(options, env.exePath, version))
  const file = wholePath(change.file)
  out.json({ ...change, folder })
  if (options.dryRun) {
    out.print(
      safe(change.changed ? `Would write ${folder} and register it in ${file}` : `Would update ${folder}`),
    )
    return
  }
  out.print(
    [
      change.changed ? `Wrote ${folder} and registered it in ${file}` : `Updated ${folder}`,
      "Takes effect in new sessions. Undo with `ctxbridge prune plugin --revert`.",
    ].map(safe),
  )
}
