/** `ctxbridge prune native`: settings of Claude Code that keep its window lean, and back. */

import { type Installed, installedClients } from "../../claude/install/clients.ts"
import { oneAtATime } from "../../claude/install/install-lock.ts"
import type { SettingsChange } from "../../claude/install/register.ts"
import { hostEnvironment } from "../../claude/settings/read-settings.ts"
import { atLeast, PERCENT_FROM, WINDOW_FROM } from "../../claude/versions.ts"
import { DEFAULT_CLEARING } from "../../pruners/savings.ts"
import type { NativeWish } from "../../pruners/set-native.ts"
import { nativeWay, revertNative, setNative } from "../../pruners/set-native.ts"
import { isArchiving } from "../../pruners/ways.ts"
import { CtxError, usageError } from "../../util/errors.ts"
import { positive } from "../args.ts"
import { wholePath } from "../block.ts"
import type { Context } from "../command.ts"
import { safe } from "../style.ts"

/** Claude Code ignores a smaller window. */
const LEAST_WINDOW = 100_000

export async function pruneNative(context: Context): Promise<void> {
  const { args, env, out } = context
  const options = { ...env, dryRun: args["dry-run"] === true }
  if (args["revert"] === true) {
    const change = oneAtATime(env.home, () => revertNative(options))
    out.print(safe(revertedLine(change)))
    out.json({ ...change, notes: [] })
    return
  }
  const asked = wishOf(context)
  const [client, ...others] = await installedClients(env.home)
  const { wish, notes } = fitted(asked, client, context)
  if (wish.clearing !== undefined) notes.push(...others.flatMap((one) => warningOf(one, context)))
  // A file that cannot be read comes before what it does not have.
  setNative({ ...options, dryRun: true }, wish)
  if (!isArchiving(env))
    throw new CtxError(
      "not-archiving",
      "the hooks of ctxbridge are not registered, so cleared output would be lost",
      {
        hint: "ctxbridge install",
      },
    )
  const change = oneAtATime(env.home, () => setNative(options, wish))
  out.print([...setLines(change), ...notes].map(safe))
  out.json({ ...change, notes })
}

function wishOf({ args, env }: Context): NativeWish {
  const window = positive(args, "window")
  if (window !== undefined && window < LEAST_WINDOW)
    throw usageError(`--window must be at least ${LEAST_WINDOW}`, "Claude Code ignores a smaller one")
  const percent = positive(args, "percent")
  if (percent !== undefined && percent > 100) throw usageError("--percent must be at most 100")
  const clearing = {
    trigger: positive(args, "trigger") ?? DEFAULT_CLEARING.trigger,
    keep: positive(args, "keep") ?? DEFAULT_CLEARING.keep,
    atLeast: Math.max(1, env.config["prune.threshold"]),
  }
  return { clearing, window, percent }
}

/** What of a wish the program that is called by name can do, and what there is to say of the rest. */
function fitted(wish: NativeWish, client: Installed | undefined, { env }: Context) {
  if (client === undefined)
    return { wish, notes: ["Claude Code was not found; clearing old output needs 2.1.112 or newer."] }
  const { unsupported } = nativeWay(client, hostEnvironment(env))
  const notes: string[] = []
  const tooOld = (name: string, from: readonly [number, number, number]): void => {
    if (!atLeast(client.version, from))
      notes.push(`--${name}: versions before ${from.join(".")} may ignore it.`)
  }
  if (wish.window !== undefined) tooOld("window", WINDOW_FROM)
  if (wish.percent !== undefined) tooOld("percent", PERCENT_FROM)
  if (unsupported === undefined) return { wish, notes }
  if (wish.window === undefined && wish.percent === undefined)
    throw new CtxError("unsupported", `old tool output cannot be cleared: ${unsupported}`, {
      hint: "ctxbridge prune recommend says what works here",
    })
  return {
    wish: { ...wish, clearing: undefined },
    notes: [...notes, `Old tool output is not cleared: ${unsupported}.`],
  }
}

/** Of a program that reads the same settings. */
function warningOf(client: Installed, { env }: Context): string[] {
  const { unsupported } = nativeWay(client, hostEnvironment(env))
  return unsupported === undefined
    ? []
    : [`Requests from ${wholePath(client.path)} may be refused: ${unsupported}.`]
}

function setLines({ file, changed, dryRun, added, replaced, backup }: SettingsChange): string[] {
  if (!changed) return [`Nothing to do: already set in ${wholePath(file)}`]
  const names = [
    ...added.map((name) => `  new       ${name}`),
    ...replaced.map((name) => `  replaced  ${name}`),
  ]
  if (dryRun) return [`Would set in ${wholePath(file)}:`, ...names]
  return [
    `Set in ${wholePath(file)}:`,
    ...names,
    ...(backup === undefined ? [] : [`  backup    ${wholePath(backup)}`]),
    "Takes effect in new sessions. Undo with `ctxbridge prune native --revert`.",
  ]
}

function revertedLine({ action, dryRun, file, removed }: SettingsChange): string {
  if (action === "none") return `Nothing to remove from ${wholePath(file)}`
  const names = removed.join(", ")
  if (dryRun) return `Would remove from ${wholePath(file)}: ${names}`
  if (action === "restored") return `Restored, byte for byte as before: ${wholePath(file)}`
  if (action === "deleted") return `Deleted, since it did not exist before: ${wholePath(file)}`
  return `Removed from ${wholePath(file)}: ${names}`
}
