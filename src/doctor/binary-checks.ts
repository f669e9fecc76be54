/** Checks the binaries that hooks call, and the one on PATH. */
import { output } from "../util/run-child.ts"
import { type Finding, finding, type Patient } from "./finding.ts"
import { type InstalledHook, isExecutable, ourHooks, realFile } from "./our-hooks.ts"
import { reinstall } from "./registration-checks.ts"

export async function binaryChecks(patient: Patient): Promise<Finding[]> {
  const byBinary = new Map<string, InstalledHook>()
  for (const hook of ourHooks(patient)) if (!byBinary.has(hook.binary)) byBinary.set(hook.binary, hook)
  const found = await Promise.all([...byBinary.values()].map((hook) => oneBinary(patient, hook)))
  return [...found, await onPath(patient, [...byBinary.keys()])]
}

async function oneBinary(patient: Patient, { binary, scope }: InstalledHook): Promise<Finding> {
  const more = { hint: `ctxbridge install --scope ${scope}`, repair: reinstall(patient, scope) }
  const real = realFile(binary)
  if (real === undefined) return finding("binary", "fail", `hooks call ${binary}, which does not exist`, more)
  if (!isExecutable(binary))
    return finding("binary", "fail", `hooks call ${binary}, which cannot be run`, more)
  if (real === realFile(patient.exePath)) {
    return finding("binary", "ok", `hooks call this binary, ${patient.version}`)
  }
  // A project's files arrive with `git clone`, so we do not run what they name.
  if (scope !== "user") {
    const text = `${scope} settings: hooks call another binary, which is not run to ask its version: ${binary}`
    return finding("binary", "warn", text, { hint: `ctxbridge install --scope ${scope}` })
  }
  const version = await versionOf(binary)
  if (version === patient.version)
    return finding("binary", "ok", `hooks call ${binary}, which is ${version}, like this one`)
  return finding(
    "binary",
    "warn",
    `hooks call ${binary}, ${version ?? "of unknown version"}; this is ${patient.version}`,
    more,
  )
}

async function onPath({ exePath, version }: Patient, called: readonly string[]): Promise<Finding> {
  const found = Bun.which("ctxbridge")
  if (found === null) {
    return finding("path", "warn", "ctxbridge is not on PATH", {
      hint: "hooks do not need that, but you do: link it into a folder on PATH",
    })
  }
  const known = [exePath, ...called].map(realFile)
  if (known.includes(realFile(found))) return finding("path", "ok", found)
  const other = await versionOf(found)
  if (other === version) return finding("path", "ok", `${found}, ${version}`)
  return finding("path", "warn", `PATH has another one: ${found}, ${other ?? "of unknown version"}`, {
    hint: `this one is ${exePath}, ${version}`,
  })
}

/** undefined if it does not report a version in our format. */
const versionOf = async (binary: string): Promise<string | undefined> =>
  /^ctxbridge (\S+)$/m.exec((await output([binary, "--version"])) ?? "")?.[1]
