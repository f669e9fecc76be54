/** Gets a new binary, checks it, and tries it, beside the one that is to be replaced. */
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { childEnvironment } from "../../config/load.ts"
import { CtxError, messageOf } from "../../util/errors.ts"
import { flush } from "../../util/files.ts"
import { runChild } from "../../util/run-child.ts"
import { sha256Of } from "../../util/sha256.ts"
import { partOf, stagedOf } from "./beside-binary.ts"
import type { ReleaseSource } from "./release-source.ts"
import type { Offer } from "./release-sums.ts"

/** ms that a new binary may take to say its version, from a cold disk. */
const PATIENCE = 30_000

type Progress = (done: number, total: number) => void

/**
 * @param binary what it will replace
 * @returns path of a binary that is what the release says it is, and runs here
 */
export async function getBinary(
  source: ReleaseSource,
  offer: Offer,
  binary: string,
  onProgress: Progress,
): Promise<string> {
  const part = partOf(binary, offer.packedSum)
  const staged = stagedOf(binary)
  try {
    const packed = await checkedFile(source, offer, part, onProgress)
    writeFileSync(staged, Bun.gunzipSync(readFileSync(packed)), { mode: 0o700 })
    if (sha256Of(staged) !== offer.sum) throw notAsNamed(source, offer.name)
    chmodSync(staged, 0o755)
    // The kernel of a Mac kills what is not signed, or not any more.
    if (process.platform === "darwin") await answerOf(["codesign", "--force", "--sign", "-", staged])
    await mustRun(staged, offer)
    flush(staged)
    rmSync(part, { force: true })
    return staged
  } catch (error) {
    rmSync(staged, { force: true })
    if (statSync(part, { throwIfNoEntry: false })?.size === 0) rmSync(part, { force: true })
    throw error
  }
}

async function checkedFile(
  source: ReleaseSource,
  { name, packedSum }: Offer,
  part: string,
  onProgress: Progress,
): Promise<string> {
  const wasThere = existsSync(part)
  if (wasThere && sha256Of(part) === packedSum) return part
  const get = (): Promise<string> => source.file(`${name}.gz`, part, onProgress)
  const first = await get()
  if (sha256Of(first) === packedSum) return first
  rmSync(part, { force: true })
  // Not every server goes on where it is asked to.
  if (wasThere && sha256Of(await get()) === packedSum) return part
  rmSync(part, { force: true })
  throw notAsNamed(source, `${name}.gz`)
}

const notAsNamed = (source: ReleaseSource, name: string): CtxError =>
  new CtxError("not-the-release", `${name} from ${source.shown} is not what SHA256SUMS says`, {
    hint: "nothing was changed; try again, or ask whoever publishes it",
  })

async function mustRun(staged: string, { version, platform }: Offer): Promise<void> {
  const answer = await answerOf([staged, "--version"])
  if (answer === `ctxbridge ${version}`) return
  throw new CtxError("does-not-run", `the binary for ${platform} does not run here: ${answer}`, {
    hint: "nothing was changed",
  })
}

/** What a program says, or why it does not run. */
export async function answerOf(command: string[]): Promise<string> {
  try {
    const { stdout, stderr, code, late } = await runChild(command, {
      timeout: PATIENCE,
      env: childEnvironment(),
    })
    if (late) return `no answer within ${PATIENCE / 1000} s`
    return (code === 0 ? stdout : stderr || `exit ${code}`).trim()
  } catch (error) {
    return messageOf(error)
  }
}
