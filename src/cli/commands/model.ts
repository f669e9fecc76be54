/** `ctxbridge model`: manages the sentence model used by search by meaning. */

import { readFileSync } from "node:fs"
import { CtxError, EXIT, messageOf, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { resolve } from "../../base/path.ts"
import { addressShown, bytes, count } from "../../base/text.ts"
import type { Config } from "../../config/options.ts"
import {
  embedderId,
  mendRuntime,
  nativeState,
  openEmbedder,
  prepareRuntime,
  type RuntimeName,
} from "../../find/embed/embedder.ts"
import {
  addressOf,
  type InstallReport,
  installModel,
  isInstalled,
  removeModel,
} from "../../find/embed/install-model.ts"
import {
  carriedModel,
  checkFiles,
  damageOfModel,
  installedModel,
  modelFolder,
  modelState,
} from "../../find/embed/model-files.ts"
import {
  type Manifest,
  MINILM,
  MINILM_URL,
  parseManifest,
  sizeOfModel,
} from "../../find/embed/model-manifest.ts"
import { spawnJob } from "../../job/spawn.ts"
import { openCurrent } from "../../views/open-current.ts"
import { vectorTotals } from "../../views/vectors.ts"
import { oneOf, stringArg, unknownWord, words } from "../args.ts"
import { type Command, type Context, type Environment, flag, option } from "../command.ts"
import { ask } from "../confirm.ts"
import { safe } from "../style.ts"
import { writeOption } from "./config.ts"

const RUNTIMES: readonly RuntimeName[] = ["native", "wasm"]

export default {
  meta: { name: "model", description: "Install and check the model for search by meaning" },
  args: {
    action: {
      type: "positional",
      description: "What to do (default: status)",
      valueHint: "status|install|verify|remove",
    },
    from: option("install: a folder that holds the files, or an https address (embed.from)", "DIR|URL"),
    manifest: option("install: a model of your own, by its hashes", "FILE"),
    runtime: option("verify: only with this one", "native|wasm"),
    "dry-run": flag("install, remove: show what would be done; write nothing"),
    yes: flag("install: download without asking", "y"),
  },
  run(context) {
    const [action = "status", surplus] = words(context.args)
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge model --help")
    if (action === "status") return status(context)
    if (action === "install") return install(context)
    if (action === "verify") return verify(context)
    if (action === "remove") return remove(context)
    throw unknownWord("action", action, ["status", "install", "verify", "remove"])
  },
} satisfies Command

const NATIVE = {
  ok: "written out, unchanged",
  missing: "not written out yet; that happens when it is first needed",
  damaged: "damaged; it is written out anew when it is next needed",
  unavailable: "none for this system; WebAssembly is used",
  distrusted: "not used, because several processes died with it; WebAssembly is used",
} as const satisfies Record<Awaited<ReturnType<typeof nativeState>>, string>

async function status({ env, out }: Context): Promise<void> {
  const { model, problem = model && damageOfModel(model) } = modelState(env.dataHome)
  const vectors = totalsOf(env.dataHome)
  const native = await nativeState(env)
  out.json({
    model: model?.manifest.id ?? null,
    pinned: model?.isPinned ?? null,
    folder: model?.folder ?? null,
    carried: carriedModel() !== undefined,
    bytes: model === undefined ? null : sizeOfModel(model.manifest),
    problem: problem ?? null,
    native,
    vectors: vectors ?? null,
  })
  if (problem !== undefined) out.print(`The installed model cannot be used: ${safe(problem)}`)
  if (model === undefined) {
    out.print(`No model in ${safe(modelFolder(env.dataHome))}: search is by words.`)
    out.print(
      `\`ctxbridge model install\` downloads ${MINILM.id} (${bytes(sizeOfModel(MINILM))}); --from DIR takes it from a folder.`,
    )
  } else {
    const { manifest, folder, isPinned } = model
    out.print(
      `${safe(manifest.id)}, ${bytes(sizeOfModel(manifest))}${isPinned ? "" : ", a model of your own"}`,
    )
    out.print(folder === undefined ? "Part of this binary" : safe(folder))
    out.print(`Native library: ${NATIVE[native]}`)
  }
  if (vectors !== undefined) {
    const { embedder, embedded, turns } = vectors
    const rest =
      env.config["search.meaning"] === "off"
        ? "search.meaning is off, so no more are made"
        : embedded < turns
          ? "the background job makes the rest"
          : "done"
    out.print(`Vectors by ${safe(embedder)}: ${embedded} of ${count(turns, "turn")}; ${rest}`)
  }
}

/** undefined if nothing is archived yet or the views cannot be read; neither concerns the model. */
function totalsOf(dataHome: string) {
  const embedder = embedderId(dataHome)
  return tryTo(() => {
    using db = openCurrent(dataHome, "command")
    return { embedder, ...vectorTotals(db, embedder) }
  })
}

async function install(context: Context): Promise<void> {
  const { args, env, out } = context
  const own = stringArg(args, "manifest")
  const given = stringArg(args, "from")
  if (own === undefined && given === undefined && carriedModel() !== undefined) return useCarried(context)
  const manifest = own === undefined ? MINILM : parseManifest(readManifest(resolve(env.cwd, own)))
  const from = given ?? usualSource(context, manifest)
  if (from === undefined) return
  const dryRun = args["dry-run"] === true
  const report = await addModel(context, manifest, from, dryRun)
  const meaning = setMeaning(env, "auto", dryRun)
  if ((report.changed || meaning.isChanged) && !dryRun) embedNow(env)
  out.json({ ...report, ...meaning.json })
  const done = report.dryRun ? "Would install" : "Installed"
  out.print(
    report.changed
      ? `${done} ${safe(report.model)}, ${bytes(report.bytes)}, in ${safe(report.folder)}`
      : `${safe(report.model)} is installed already, and every byte is right`,
  )
  out.print(meaning.lines)
}

/** @param from a folder or an address */
export async function addModel(
  { env, out }: Context,
  manifest: Manifest,
  from: string,
  dryRun: boolean,
): Promise<InstallReport> {
  const report = await installModel({
    dataHome: env.dataHome,
    manifest,
    from: addressOf(from) === undefined ? resolve(env.cwd, from) : from,
    dryRun,
    onProgress: (done, total) => out.progress("installing the model", done, total, "bytes"),
  })
  if (report.changed && !dryRun) await prepareRuntime(env)
  return report
}

/** Has the job make vectors of what is archived, now instead of after the next session. */
export const embedNow = ({ dataHome }: Environment): void =>
  spawnJob(dataHome, { transcripts: [], sweep: [], settle: false })

/** There is nothing to download: what stands in the way of the model in this binary is taken away. */
function useCarried({ args, env, out }: Context): void {
  const dryRun = args["dry-run"] === true
  const { model, problem } = modelState(env.dataHome)
  const isGood = model?.folder === undefined || (model.isPinned && damageOfModel(model) === undefined)
  const removed = problem !== undefined || !isGood ? removeModel(env.dataHome, dryRun) : undefined
  const meaning = setMeaning(env, "auto", dryRun)
  const changed = removed !== undefined || meaning.isChanged
  if (changed && !dryRun) embedNow(env)
  const bytes = sizeOfModel(MINILM)
  out.json({
    model: MINILM.id,
    folder: null,
    bytes,
    changed,
    dryRun,
    removed: removed ?? null,
    ...meaning.json,
  })
  out.print(`${MINILM.id} is part of this binary, so there is nothing to install`)
  if (removed !== undefined) out.print(`${dryRun ? "Would remove" : "Removed"} ${safe(removed)}`)
  out.print(meaning.lines)
}

/** Where a model is taken from if nobody says; empty: nobody knows. */
export const sourceOfModel = ({ config }: Environment, manifest: Manifest): string =>
  config["embed.from"] || (manifest === MINILM ? MINILM_URL : "")

/**
 * Sets `search.meaning` in the user's own file, unless that is what counts already.
 *
 * @throws CtxError `config` if the file cannot be edited safely
 */
function setMeaning(env: Environment, value: Config["search.meaning"], dryRun: boolean) {
  const { config, origin } = env.resolved
  if (config["search.meaning"] === value) return { isChanged: false, json: {}, lines: [] }
  if (!dryRun) writeOption(env, "search.meaning", JSON.stringify(value))
  const from = origin["search.meaning"]
  const hidden =
    from === "env" ? [`It has no effect here: ${config["search.meaning"]} comes from the env.`] : []
  const lines = [
    `${dryRun ? "Would set" : "Set"} search.meaning = ${value} in ${safe(env.configFile)}`,
    ...hidden,
  ]
  return { isChanged: true, json: { meaning: value }, lines }
}

/**
 * Where the model is taken from if `--from` does not say. Nothing is downloaded before a person has agreed.
 *
 * @returns undefined if they do not agree
 */
function usualSource({ args, env, out }: Context, manifest: Manifest): string | undefined {
  const source = sourceOfModel(env, manifest)
  const needsNoNetwork = args["dry-run"] === true || isInstalled(env.dataHome, manifest)
  if (source !== "" && (args["yes"] === true || needsNoNetwork || addressOf(source) === undefined))
    return source
  const what = `${manifest.id} (${bytes(sizeOfModel(manifest))})`
  const isWanted =
    source === "" || out.wantsJson
      ? undefined
      : ask(`Download ${safe(`${what} from ${addressShown(source)}`)}?`)
  if (isWanted === undefined) {
    throw new CtxError("no-source", `${what} is not installed`, {
      hint: `ctxbridge model install --from DIR${source === "" ? "" : `, or --yes downloads it from ${addressShown(source)}`}`,
      exit: EXIT.usage,
    })
  }
  if (!isWanted) out.print("Nothing was installed")
  return isWanted ? source : undefined
}

function readManifest(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (cause) {
    throw new CtxError("bad-manifest", `cannot read ${path}: ${messageOf(cause)}`, { cause })
  }
}

/** What the binary carries cannot be removed, but turned off. */
function remove({ args, env, out }: Context): void {
  const dryRun = args["dry-run"] === true
  const isCarried = carriedModel() !== undefined
  const meaning = isCarried ? setMeaning(env, "off", dryRun) : undefined
  const removed = removeModel(env.dataHome, dryRun)
  // Search by meaning finds nothing until the job has made vectors of the other kind.
  if (removed !== undefined && !dryRun && !isCarried) embedNow(env)
  out.json({ removed: removed ?? null, ...meaning?.json, dryRun })
  if (removed !== undefined) out.print(`${dryRun ? "Would remove" : "Removed"} ${safe(removed)}`)
  else if (!isCarried) out.print("No model is installed")
  if (isCarried) out.print(`${MINILM.id} is part of this binary, so it is turned off, not removed`)
  out.print(meaning?.lines ?? [])
}

async function verify({ args, env, out }: Context): Promise<number> {
  const only = oneOf(args, "runtime", RUNTIMES)
  const model = installedModel(env.dataHome) ?? carriedModel()
  if (model === undefined) {
    throw new CtxError("no-model", `no model is installed in ${modelFolder(env.dataHome)}`, {
      hint: "ctxbridge model status says how to install one",
      exit: EXIT.notFound,
    })
  }
  const { manifest, isPinned } = model
  const files = checkFiles(model)
  const damage = damageOfModel(model)
  if (damage !== undefined) {
    const isCarried = model.folder === undefined
    throw new CtxError("model-damaged", damage, {
      hint: isCarried ? "install ctxbridge again" : "ctxbridge model install replaces it",
    })
  }
  const start = performance.now()
  const mended = only === "wasm" ? false : await mendRuntime(env)
  const embedder = await openEmbedder(env, only)
  const [first, ...others] = SENTENCES
  const vectors = [await embedder.embed(first)]
  const firstMs = Math.round(performance.now() - start)
  for (const sentence of others) vectors.push(await embedder.embed(sentence))
  const golden = compareGolden(isPinned ? MINILM.id : manifest.id, vectors)
  const ok = embedder.runtime !== "hashed" && golden.every((one) => one.ok)
  out.json({
    ok,
    model: manifest.id,
    pinned: isPinned,
    runtime: embedder.runtime,
    mended,
    firstMs,
    files,
    golden,
  })
  out.print(`Files: ${files.length} as pinned, byte for byte`)
  if (mended) out.print("The native library was damaged, and has been written out anew")
  if (embedder.runtime === "hashed") out.print("ONNX Runtime does not run here; ctxbridge.log says why")
  else out.print(`Runtime: ${embedder.runtime}; the first vector after ${firstMs} ms`)
  for (const one of golden) out.print(goldenLine(one))
  return ok ? EXIT.ok : EXIT.failed
}

function goldenLine({ a, b, cosine, expected, ok }: Compared): string {
  const told = expected === null ? "no published value for this model" : `${expected} published`
  return `${ok ? "ok  " : "FAIL"} ${cosine.toFixed(4)} (${told})  ${a} / ${b}`
}

/* Checks that the installed model computes what its authors say it does. Pure. */

/** From the documentation of sentence-transformers, computed there with all-MiniLM-L6-v2 in 32-bit floats. */
const SENTENCES = [
  "The weather is lovely today.",
  "It's so sunny outside!",
  "He drove to the stadium.",
] as const

const PAIRS = [
  { of: [0, 1], expected: 0.666 },
  { of: [0, 2], expected: 0.1046 },
  { of: [1, 2], expected: 0.1411 },
] as const

/** How far 8-bit weights may shift a cosine. Wrong tokens or wrong pooling shift it further. */
const TOLERANCE = 0.05

interface Compared {
  readonly a: string
  readonly b: string
  readonly cosine: number
  /** Null when no value has been published for this model. */
  readonly expected: number | null
  readonly ok: boolean
}

/**
 * @param model id of the model
 * @param vectors of SENTENCES
 */
function compareGolden(model: string, vectors: readonly Float32Array[]): Compared[] {
  return PAIRS.map(({ of: [a, b], expected }) => {
    const cosine = Math.round(dot(vectors[a]!, vectors[b]!) * 10_000) / 10_000
    const known = model === MINILM.id
    return {
      a: SENTENCES[a],
      b: SENTENCES[b],
      cosine,
      expected: known ? expected : null,
      ok: Number.isFinite(cosine) && (!known || Math.abs(cosine - expected) <= TOLERANCE),
    }
  })
}

/** For vectors of length 1, this is the cosine. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let n = 0; n < a.length; n++) sum += a[n]! * b[n]!
  return sum
}
