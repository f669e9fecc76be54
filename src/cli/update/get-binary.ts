/** Gets a new binary, checks it, and tries it, beside the one that is to be replaced. */

import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { fileURLToPath } from "node:url"
import { CtxError, codeOf, EXIT, messageOf } from "../../base/errors.ts"
import { flush, tryTo } from "../../base/files.ts"
import { realpathSync, renameSync } from "../../base/fs.ts"
import { isAlive } from "../../base/own-program.ts"
import { dirname, join, resolve } from "../../base/path.ts"
import { runChild } from "../../base/processes.ts"
import { sha256Of } from "../../base/sha256.ts"
import { addressShown } from "../../base/text.ts"
import { writeAll } from "../../base/write-output.ts"
import { childEnvironment } from "../../config/load.ts"
import { addressOf } from "../../find/embed/install-model.ts"
import { withoutBaseline } from "./replace-running.ts"

/** ms that a new binary may take to say its version, the first time, read from the disk. */
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

/* Where releases are: at an address or in a folder. Gets from there what `ctxbridge update` needs. */

const SUMS = "SHA256SUMS"

export interface ReleaseSource {
  /** As people know it. */
  readonly shown: string
  /** What SHA256SUMS says; undefined if there is none. */
  sums(): Promise<ReleaseSums | undefined>
  /**
   * @param part where it is written if it must be fetched; goes on with what is there
   * @returns where the file is
   */
  file(name: string, part: string, onProgress: (done: number, total: number) => void): Promise<string>
  /** Where one version is, if the newest is elsewhere. */
  ofVersion(version: string): ReleaseSource
}

/**
 * @param text an https address, file:// or a folder
 * @throws CtxError for an address that must not be used
 */
export function releaseSource(text: string, cwd: string): ReleaseSource {
  if (/^file:\/\/\//i.test(text)) return folderSource(resolve(fileURLToPath(text)))
  const url = addressOf(text)
  return url === undefined ? folderSource(resolve(cwd, text)) : addressSource(url)
}

function folderSource(folder: string): ReleaseSource {
  return {
    shown: folder,
    sums: async () => {
      const file = join(folder, SUMS)
      return existsSync(file) ? parseSums(readFileSync(file, "utf8")) : undefined
    },
    file: async (name) => {
      const file = join(folder, name)
      if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file
      throw new CtxError("no-release", `${folder} has no ${name}, which its ${SUMS} names`, {
        exit: EXIT.notFound,
      })
    },
    ofVersion: (version) => folderSource(join(folder, `v${version}`)),
  }
}

/** GitHub has the newest release at one address, and each at one of its own. */
const NEWEST = /\/releases\/latest\/download$/

function addressSource(base: URL): ReleaseSource {
  const address = base.href.replace(/\/+$/, "")
  const at = (name: string): URL => new URL(`${address}/${name}`)
  return {
    shown: addressShown(address),
    sums: async () => {
      const text = await fetchText(at(SUMS))
      return text === undefined ? undefined : parseSums(text)
    },
    file: async (name, part, onProgress) => {
      await fetchFile(at(name), part, onProgress)
      return part
    },
    ofVersion: (version) =>
      addressSource(
        new URL(
          NEWEST.test(address)
            ? address.replace(NEWEST, `/releases/download/v${version}`)
            : `${address}/v${version}`,
        ),
      ),
  }
}

/*
 * Gets files of a release over the network, only when the user runs `ctxbridge update`. The caller checks their sums.
 */

/** ms without a byte after which the server is considered dead. */
const SILENCE = 30_000
const REDIRECTS = 5
/** Maximum bytes of a text. */
const TEXT = 1 << 20

/** The end of the request's patience starts anew with each byte. */
class Patience {
  readonly #controller = new AbortController()
  #timer: Timer | undefined
  readonly signal = this.#controller.signal

  constructor() {
    this.renew()
  }

  renew(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}

/** Follows redirects, but to https only. */
async function requested(url: URL, headers: Record<string, string>, patience: Patience): Promise<Response> {
  let at = url
  for (let n = 0; n <= REDIRECTS; n++) {
    const response = await fetch(at, { headers, redirect: "manual", signal: patience.signal })
    const location = response.headers.get("location")
    if (response.status < 300 || response.status >= 400 || location === null) return response
    const next = new URL(location, at)
    if (next.protocol !== "https:") throw new Error(`${at} redirects to ${next}`)
    at = next
  }
  throw new Error(`more than ${REDIRECTS} redirects`)
}

async function told<T>(url: URL, patience: Patience, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(cause))) throw cause
    const why = patience.signal.aborted ? `no data for ${SILENCE / 1000} s` : messageOf(cause)
    throw new CtxError("download-failed", `cannot fetch ${url}: ${why}`, {
      hint: "nothing was changed; try again, and it goes on where it stopped",
      cause,
    })
  }
}

/** @returns undefined if there is no such file */
async function fetchText(url: URL): Promise<string | undefined> {
  using patience = new Patience()
  return await told(url, patience, async () => {
    const response = await requested(url, {}, patience)
    if (response.status === 404) return undefined
    if (!response.ok) throw new Error(`the server says ${response.status}`)
    const text = await response.text()
    if (text.length > TEXT) throw new Error(`the file is larger than ${TEXT} bytes`)
    return text
  })
}

/**
 * Writes the file, or what is missing of it if a part is there.
 *
 * @param onProgress called with the bytes that are there so far, and how many there will be; 0: unknown
 */
async function fetchFile(
  url: URL,
  path: string,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  using patience = new Patience()
  await told(url, patience, async () => {
    const start = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const response = await requested(url, start === 0 ? {} : { range: `bytes=${start}-` }, patience)
    // The part is the whole file, or longer than it.
    if (response.status === 416) return
    if (!response.ok || response.body === null) throw new Error(`the server says ${response.status}`)
    const goesOn = response.status === 206
    let done = goesOn ? start : 0
    const total = done + Number(response.headers.get("content-length") ?? 0)
    const fd = openSync(path, goesOn ? "a" : "w", 0o600)
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        patience.renew()
        writeAll(fd, chunk)
        done += chunk.length
        onProgress(done, total)
      }
    } finally {
      closeSync(fd)
    }
    if (done < total) throw new Error("the connection was closed")
  })
}

/* What SHA256SUMS says of a release: its versions, its files and their sums. Pure. */

/** Sums by name of the file. */
type ReleaseSums = ReadonlyMap<string, string>

export function parseSums(text: string): ReleaseSums {
  const found = [...text.matchAll(/^([0-9a-f]{64}) [ *]([\w.+-]+)$/gm)]
  return new Map(found.map(([, sum, name]) => [name!, sum!]))
}

/** A binary that a release has. */
export interface Offer {
  readonly version: string
  readonly platform: string
  /** Name of the binary; packed, with `.gz` behind it. */
  readonly name: string
  readonly sum: string
  readonly packedSum: string
}

/** All that is for this platform, the newest first. */
export function offersFor(sums: ReleaseSums, platform: string): Offer[] {
  const offers: Offer[] = []
  for (const [name, sum] of sums) {
    const version = versionIn(name, platform)
    const packedSum = sums.get(`${name}.gz`)
    if (version !== undefined && packedSum !== undefined)
      offers.push({ version, platform, name, sum, packedSum })
  }
  const plain = withoutBaseline(platform)
  if (offers.length === 0 && plain !== undefined) return offersFor(sums, plain)
  return offers.sort((a, b) => compareVersions(b.version, a.version))
}

function versionIn(name: string, platform: string): string | undefined {
  const end = `-${platform}${platform.startsWith("windows-") ? ".exe" : ""}`
  if (!name.startsWith("ctxbridge-") || !name.endsWith(end)) return undefined
  const version = name.slice("ctxbridge-".length, -end.length)
  return isVersion(version) ? version : undefined
}

export const isVersion = (text: string): boolean => /^\d+\.\d+\.\d+(-[\w.+-]+)?$/.test(text)

/** As semver.org orders them, but for what stands behind a plus sign, which we do not use. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [a, b].map(split) as [Parts, Parts]
  for (let n = 0; n < 3; n++) {
    const difference = first.numbers[n]! - second.numbers[n]!
    if (difference !== 0) return difference
  }
  if (first.rest === "" || second.rest === "") return second.rest.length - first.rest.length
  return comparePrereleases(first.rest.split("."), second.rest.split("."))
}

interface Parts {
  readonly numbers: readonly number[]
  readonly rest: string
}

function split(version: string): Parts {
  const [main = "", ...rest] = version.split("-")
  return { numbers: main.split(".").map(Number), rest: rest.join("-") }
}

function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  for (let n = 0; n < Math.min(a.length, b.length); n++) {
    const [one, other] = [a[n]!, b[n]!]
    if (one === other) continue
    const [x, y] = [one, other].map((part) => (/^\d+$/.test(part) ? Number(part) : Number.NaN)) as [
      number,
      number,
    ]
    // Numbers come before words.
    if (Number.isNaN(x) && Number.isNaN(y)) return one < other ? -1 : 1
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1
    return x - y
  }
  return a.length - b.length
}

/*
 * What lies beside our binary: the version before it, and what updates and installers are at work on. Their names are
 * those of the installers, so that each removes what the other left when it was killed.
 */

/** For `update --rollback`. */
export const previousOf = (binary: string): string => join(dirname(binary), ".ctxbridge.previous")

/** Where a new binary is made. */
export const stagedOf = (binary: string): string => join(dirname(binary), `.ctxbridge.${process.pid}.tmp`)

const LEFT = /^\.ctxbridge\.(?:([0-9a-f]{64})\.)?(\d+)\.(tmp|tmp\.exe|sums|log|part|kept)$/

/**
 * Takes over what an interrupted download of the same file has left, and removes what else killed processes left.
 *
 * @param sum of the packed file
 * @returns where to download it
 */
function partOf(binary: string, sum: string): string {
  const folder = dirname(binary)
  const own = join(folder, `.ctxbridge.${sum}.${process.pid}.part`)
  for (const { name, sum: found } of leftovers(folder)) {
    if (found === sum && !existsSync(own)) tryTo(() => renameSync(join(folder, name), own))
    else tryTo(() => rmSync(join(folder, name)))
  }
  return own
}

function leftovers(folder: string): { name: string; sum: string | undefined }[] {
  return readdirSync(folder).flatMap((name) => {
    const [, sum, pid] = LEFT.exec(name) ?? []
    return pid === undefined || isAlive(Number(pid)) ? [] : [{ name, sum }]
  })
}

/** All of this that is not in use. */
export function filesBeside(exePath: string): string[] {
  const binary = realpathSync(exePath)
  const previous = previousOf(binary)
  const left = leftovers(dirname(binary)).map(({ name }) => join(dirname(binary), name))
  return existsSync(previous) ? [previous, ...left] : left
}

/**
 * Puts a new binary in the old one's place. At no moment is there half of one, and, but for the time between two renames
 * on Windows, none.
 */
export function replaceBinary(binary: string, staged: string): void {
  if (process.platform === "win32") {
    makeRoom(previousOf(binary))
    exchange(binary, staged, previousOf(binary))
    return
  }
  keepAs(binary, previousOf(binary))
  renameSync(staged, binary)
}

/** Windows replaces or removes no program that runs, but gives it another name. What stays is removed next time. */
function makeRoom(previous: string): void {
  tryTo(() => rmSync(previous, { force: true }))
  if (existsSync(previous)) renameSync(previous, join(dirname(previous), `.ctxbridge.${process.pid}.kept`))
}

/** Puts `next` where `binary` is, and that where `former` says. */
function exchange(binary: string, next: string, former: string): void {
  renameSync(binary, former)
  try {
    renameSync(next, binary)
  } catch (error) {
    renameSync(former, binary)
    throw error
  }
}

/** Exchanges the binary and the previous one. */
export function rollBack(binary: string): void {
  const now = stagedOf(binary)
  const previous = previousOf(binary)
  if (process.platform === "win32") {
    exchange(binary, previous, now)
    renameSync(now, previous)
    return
  }
  addName(binary, now)
  renameSync(previous, binary)
  rename(now, previous)
}

function keepAs(binary: string, name: string): void {
  const temporary = join(dirname(binary), `.ctxbridge.${process.pid}.kept`)
  addName(binary, temporary)
  rename(temporary, name)
}

/** Two names of one file both stay if one is renamed to the other. */
function rename(from: string, to: string): void {
  renameSync(from, to)
  rmSync(from, { force: true })
}

/** A second name for the same file; a copy where the file system has no such thing. */
function addName(file: string, name: string): void {
  rmSync(name, { force: true })
  try {
    linkSync(file, name)
  } catch {
    copyFileSync(file, name)
  }
}
