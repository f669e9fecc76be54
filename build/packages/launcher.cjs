#!/usr/bin/env node
// Starts the program that npm has installed for this system.
const { spawn } = require("node:child_process")
const { chmodSync, copyFileSync, mkdirSync, renameSync, rmSync } = require("node:fs")
const { homedir } = require("node:os")
const { join, sep } = require("node:path")

const NAME = "ctxbridge"
const PROGRAM = process.platform === "win32" ? "ctxbridge.exe" : "ctxbridge"

const args = process.argv.slice(2)
const found = installed()
if (found === undefined) {
  fail(
    `npm has not installed the program for ${process.platform}-${process.arch}`,
    "optional packages must not be left out: npm install -g ctxbridge --include=optional",
  )
}
start(isTemporary(found) && args[0] === "install" ? keep(found) : found)

/** The package of this system. An npm that does not know of C libraries has installed two. */
function installed() {
  const system = process.platform === "win32" ? "windows" : process.platform
  const plain = `${NAME}-${system}-${process.arch}`
  const packages = system === "linux" ? (isMusl() ? [`${plain}-musl`] : [plain]) : [plain]
  for (const name of packages) {
    try {
      return join(require.resolve(`${name}/package.json`), "..", "bin", PROGRAM)
    } catch {
      // Not there: the caller says so.
    }
  }
  return undefined
}

function isMusl() {
  if (process.report === undefined) return false
  // Without this, names of other machines are looked up.
  process.report.excludeNetwork = true
  return process.report.getReport().header.glibcVersionRuntime === undefined
}

/** npx runs from a cache that npm empties, and hooks would then call a program that is gone. */
function isTemporary(file) {
  return file.includes(`${sep}_npx${sep}`)
}

function keep(file) {
  const folder = join(homedir(), ".local", "bin")
  const kept = join(folder, PROGRAM)
  const staged = join(folder, `.${NAME}.${process.pid}.tmp`)
  try {
    mkdirSync(folder, { recursive: true })
    copyFileSync(file, staged)
    chmodSync(staged, 0o755)
    renameSync(staged, kept)
  } catch (error) {
    rmSync(staged, { force: true })
    fail(`cannot write ${kept}: ${error.message}`, "npm install -g ctxbridge, then ctxbridge install")
  }
  console.log(`Installed ${kept}`)
  return kept
}

function start(program) {
  const child = spawn(program, args, { stdio: "inherit" })
  // A terminal sends its interrupts to both. What is sent to us alone is meant for the program.
  process.on("SIGINT", () => undefined)
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`, "npm install -g ctxbridge"))
  child.on("exit", (status, signal) => {
    if (signal === null) process.exit(status)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

function fail(message, hint) {
  console.error(`ctxbridge: ${message}\nhint: ${hint}`)
  process.exit(1)
}
