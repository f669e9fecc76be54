/** `ctxbridge update`: replaces this binary by another release's, and takes that back. Never by itself. */

import { existsSync, rmSync } from "node:fs"
import { releases, version } from "../../../package.json"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { spawnJob } from "../../job/spawn.ts"
import { stringArg } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { writeError } from "../output.ts"
import { safe } from "../style.ts"
import {
  answerOf,
  compareVersions,
  getBinary,
  isVersion,
  type Offer,
  offersFor,
  previousOf,
  type ReleaseSource,
  releaseSource,
  replaceBinary,
  rollBack,
  stagedOf,
} from "../update/get-binary.ts"
import { holdingBinary, ownBinary, thisPlatform } from "../update/replace-running.ts"

export default {
  meta: {
    name: "update",
    description: "Update ctxbridge to a newer release, or roll back",
    badOptions: "told",
  },
  args: {
    check: flag("Only check whether there is a newer release"),
    to: option("Install this version, even an older one", "VERSION"),
    from: option("Where releases are: an https address or a folder", "URL|DIR"),
    rollback: flag("Go back to the version before the last update"),
  },
  run(context) {
    const { args } = context
    if (args["rollback"] !== true) return update(context)
    const surplus = ["check", "to", "from"].find((name) => args[name] !== undefined && args[name] !== false)
    if (surplus !== undefined) throw usageError(`--rollback and --${surplus} cannot be used together`)
    return goBack(context)
  },
} satisfies Command

async function update(context: Context): Promise<void> {
  const { args, env, out } = context
  const wanted = stringArg(args, "to")?.replace(/^v/, "")
  if (wanted !== undefined && !isVersion(wanted))
    throw usageError(`not a version: ${wanted}`, "such as --to 1.2.3")
  const found = await findRelease(sourceOf(context), wanted)
  const { source, offer } = found
  const isNewer = compareVersions(offer.version, version) > 0
  const isWanted = wanted === undefined ? isNewer : wanted !== version
  const report = { version, found: offer.version, platform: offer.platform, from: source.shown }
  if (!isWanted || args["check"] === true) {
    out.print(safe(checked(offer, source, isWanted, wanted)))
    out.json({ ...report, available: isWanted, changed: false })
    return
  }
  const binary = ownBinary(env.exePath)
  await holdingBinary(binary, async () => {
    using _ = untilInterrupted(binary, stagedOf(binary))
    const staged = await getBinary(source, offer, binary, (done, total) =>
      out.progress("downloading", done, Math.max(done, total), "bytes"),
    )
    out.clear()
    replaceBinary(binary, staged)
  })
  // The new version may have to make the views anew, and a job begins with that.
  if (existsSync(env.dataHome)) spawnJob(env.dataHome, { transcripts: [], sweep: [], settle: false })
  out.print(safe(`${binary}: ${version} → ${offer.version}`))
  out.print("Open sessions keep the old version until they end. To go back: ctxbridge update --rollback")
  out.json({ ...report, available: true, changed: true, binary })
}

function checked(
  { version: found }: Offer,
  { shown }: ReleaseSource,
  isWanted: boolean,
  wanted?: string,
): string {
  if (!isWanted)
    return wanted === undefined
      ? `ctxbridge ${version} is up to date: ${shown} has ${found}`
      : `This is ${version}`
  return `ctxbridge ${found} is at ${shown}, this is ${version}: ctxbridge update${wanted === undefined ? "" : ` --to ${wanted}`}`
}

function sourceOf({ args, env }: Context): ReleaseSource {
  const from = stringArg(args, "from") ?? (env.config["update.from"] || releases)
  if (from !== "") return releaseSource(from, env.cwd)
  // Whoever has it from a package manager needs no address, and is told so.
  if (Bun.isStandaloneExecutable) ownBinary(env.exePath)
  throw new CtxError("no-source", "the address of releases is not set: none is published yet", {
    hint: "ctxbridge update --from URL or --from DIR; or the option update.from",
    exit: EXIT.usage,
  })
}

/** The newest release for this machine, or the one that is wanted. */
async function findRelease(
  source: ReleaseSource,
  wanted: string | undefined,
): Promise<{ source: ReleaseSource; offer: Offer }> {
  const platform = thisPlatform()
  const sums = await source.sums()
  if (sums === undefined && wanted === undefined) {
    throw new CtxError("no-release", `there is no SHA256SUMS at ${source.shown}`, {
      hint: "docs/installing.md describes the layout of a release",
      exit: EXIT.notFound,
    })
  }
  const offers = sums === undefined ? [] : offersFor(sums, platform)
  const offer = wanted === undefined ? offers[0] : offers.find((one) => one.version === wanted)
  if (offer !== undefined) return { source, offer }
  if (wanted !== undefined) {
    const elsewhere = source.ofVersion(wanted)
    const one = offersFor((await elsewhere.sums()) ?? new Map(), platform).find(
      (each) => each.version === wanted,
    )
    if (one !== undefined) return { source: elsewhere, offer: one }
  }
  const what = wanted === undefined ? "nothing" : `no version ${wanted}`
  throw new CtxError("no-release", `${source.shown} has ${what} for ${platform}`, {
    ...(offers.length === 0 ? {} : { hint: `it has ${offers.map((one) => one.version).join(", ")}` }),
    exit: EXIT.notFound,
  })
}

async function goBack({ env, out }: Context): Promise<void> {
  const binary = ownBinary(env.exePath)
  const previous = previousOf(binary)
  const before = await holdingBinary(binary, async () => {
    if (!existsSync(previous)) {
      throw new CtxError("no-previous", "there is no version before this one", {
        hint: "ctxbridge update --to VERSION installs any",
        exit: EXIT.notFound,
      })
    }
    const answer = await answerOf([previous, "--version"])
    if (!/^ctxbridge \S+$/.test(answer)) {
      throw new CtxError("does-not-run", `${previous} does not run: ${answer}`, {
        hint: "nothing was changed",
      })
    }
    rollBack(binary)
    return answer.slice("ctxbridge ".length)
  })
  out.print(safe(`${binary}: ${version} → ${before}`))
  out.json({ version, found: before, changed: true, binary })
}

/* What is said, and removed, when an update is interrupted before the binary is replaced. */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** @param staged what is removed; a download stays for the next try */
function untilInterrupted(binary: string, staged: string): Disposable {
  const heard = (signal: NodeJS.Signals): void => {
    tryTo(() => rmSync(staged, { force: true }))
    writeError(`ctxbridge: interrupted; ${binary} is the former one\n`)
    stop()
    // End as if we had not listened.
    process.kill(process.pid, signal)
  }
  const stop = (): void => {
    for (const signal of SIGNALS) process.off(signal, heard)
  }
  for (const signal of SIGNALS) process.on(signal, heard)
  return { [Symbol.dispose]: stop }
}
