/** `ctxbridge prune patch`: Claude Code's own program is changed so that it prunes, and back. */
import { hookStatus } from "../../claude/install/hook-status.ts"
import {
  applyPatch,
  checkPatch,
  installedTargets,
  namedTarget,
  type PatchChange,
  revertPatch,
} from "../../pruners/patch/apply-patch.ts"
import type { PatchStatus } from "../../pruners/patch/examine-program.ts"
import { CtxError, EXIT, isCtxError, usageError } from "../../util/errors.ts"
import { stringArg } from "../args.ts"
import { wholePath } from "../block.ts"
import type { Context } from "../command.ts"
import { safe } from "../style.ts"

/** What was done to one program, or why nothing was. */
type Outcome =
  | { readonly file: string; readonly status: PatchStatus }
  | (PatchChange & { readonly action: "patch" | "revert" })
  | { readonly file: string; readonly refused: string; readonly hint: string | undefined }

export async function prunePatch({ args, env, out }: Context): Promise<number> {
  const dryRun = args["dry-run"] === true
  const isCheck = args["check"] === true
  const isRevert = args["revert"] === true
  if (isCheck && isRevert) throw usageError("--check and --revert cannot be used together")
  const act = (file: string): Outcome => {
    if (isCheck) return { file, status: checkPatch(file) }
    if (isRevert) return { ...revertPatch(file, { dryRun }), action: "revert" }
    return { ...applyPatch(file, { binary: env.exePath, dryRun }), action: "patch" }
  }

  const named = stringArg(args, "target")
  const files = named === undefined ? installedTargets(env.home, env.cwd) : [namedTarget(named, env.cwd)]
  if (files.length === 0)
    throw new CtxError("no-client", "Claude Code was not found", {
      hint: "ctxbridge prune patch --target PATH names its cli.js",
      exit: EXIT.notFound,
    })
  const outcomes = files.length === 1 ? [act(files[0]!)] : files.map((file) => attempted(file, act))

  const changed = outcomes.some((one) => "action" in one && one.action === "patch" && one.changed)
  const notes = changed && !dryRun ? notesFor(env) : []
  for (const one of outcomes) out.print(linesOf(one, dryRun).map(safe))
  out.print(notes)
  out.json({ dryRun, programs: outcomes, notes })
  const isDone = (one: Outcome): boolean => ("status" in one ? one.status === "patched" : !("refused" in one))
  return outcomes.every(isDone) ? EXIT.ok : EXIT.failed
}

/** One that cannot be changed does not keep the others from it. */
function attempted(file: string, act: (file: string) => Outcome): Outcome {
  try {
    return act(file)
  } catch (error) {
    if (!isCtxError(error)) throw error
    return { file, refused: error.message, hint: error.hint }
  }
}

function linesOf(one: Outcome, dryRun: boolean): string[] {
  const path = wholePath(one.file)
  if ("status" in one) return [`${one.status}  ${path}`]
  if ("refused" in one) return [one.refused, ...(one.hint === undefined ? [] : [`  hint: ${one.hint}`])]
  const of = one.version === undefined ? "" : ` (Claude Code ${one.version})`
  if (one.action === "revert") {
    if (!one.changed) return [`Nothing to revert: ${path}`]
    return [dryRun ? `Would restore ${path}` : `Restored, byte for byte as before: ${path}${of}`]
  }
  if (!one.changed) return [`Nothing to do: ${path} is patched${of}`]
  if (dryRun) return [`Would insert into ${path}, provided the result runs:`, ...(one.diff ?? [])]
  return [`Patched ${path}${of}`, `  backup    ${path}.backup`]
}

function notesFor(env: Context["env"]): string[] {
  const isArchiving = hookStatus(env, env.exePath).some(({ installed }) => installed.length > 0)
  return [
    "Takes effect in new sessions. Undo with `ctxbridge prune patch --revert`; CLAUDE_TEXT_PRUNE_DISABLE=1 switches it off for one session.",
    "Claude Code's licence may not allow such changes, and every update undoes them.",
    ...(isArchiving
      ? []
      : [
          "The hooks of ctxbridge are not registered, so nothing is pruned until you run `ctxbridge install`.",
        ]),
  ]
}
