/**
 * Nothing of the developer's own machine may reach a test: neither settings nor archives. And nothing of a test stays on
 * it, however the test ends: neither files nor processes.
 */
import { afterAll } from "bun:test"
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setVariable } from "../src/base/libc.ts"

const SYSTEM = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]

for (const name of Object.keys(process.env)) {
  if (/^(CTXBRIDGE_(?!TEST_|FUZZ)|CLAUDE_|CLAUDECODE|ANTHROPIC_|RUVECTOR_|PG|BUN_|XDG_)/.test(name))
    delete process.env[name]
}
const { TMPDIR } = process.env
/** Holds all that tests write: home folders and archives are in it, so programs that tests start name it somewhere. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "ctxbridge-test-")))
// Others than its owner have to get through: some tests run programs as another user.
chmodSync(folder, 0o711)
process.env["TMPDIR"] = folder
process.env["HOME"] = join(folder, "home")
mkdirSync(process.env["HOME"])
process.env["TZ"] = "UTC"
// The same for the C library, which tells local times.
setVariable("TZ", "UTC")

// dpkg and others call programs that a user's PATH need not name. Tests hand this one on.
if (process.platform !== "win32") {
  const folders = new Set([...(process.env["PATH"] ?? "").split(":"), ...SYSTEM])
  process.env["PATH"] = [...folders].filter((one) => one !== "").join(":")
}

/**
 * Arguments: the folder, and the id of the test process. It reads until that process ends, even of SIGKILL; a line means
 * that it ends as it should. Then it ends whoever names the folder in its environment or its arguments, or works there:
 * terminals and jobs are in sessions of their own. What else a killed test had started is in the group that it leads,
 * if it leads one, as Bun's processes of `--parallel` do, and a shell's commands.
 */
const WATCHMAN = `read -r line || kill -9 -"$2"
found() {
  if [ -d /proc/self ]; then
    { grep -laF -- "$1" /proc/[0-9]*/environ /proc/[0-9]*/cmdline
      find /proc/[0-9]*/cwd -maxdepth 0 \\( -lname "$1" -o -lname "$1/*" \\); } | cut -d / -f 3 | sort -u
  else
    ps -axwwE -o pid=,command= | grep -F -- "$1" | awk '{ print $1 }'
  fi
}
# Once more where one has just started another.
for look in 1 2 3 4 5 6 7 8 9; do
  ended=0
  for pid in $(found "$1"); do
    [ "$pid" = $$ ] || [ "$pid" = "$2" ] || { kill -9 "$pid" && ended=1; }
  done
  rm -rf -- "$1" && [ $ended = 0 ] && exit
done`

const watchman =
  process.platform === "win32"
    ? undefined
    : Bun.spawn(["sh", "-c", WATCHMAN, "sh", folder, String(process.pid)], {
        cwd: "/",
        env: { PATH: "/usr/bin:/bin" },
        stdin: "pipe",
        stdout: "ignore",
        stderr: "ignore",
        detached: true,
      })
watchman?.unref()

afterAll(async () => {
  watchman?.stdin.write("\n")
  await watchman?.stdin.end()
  await watchman?.exited
  rmSync(folder, { recursive: true, force: true })
  // The next file of this process begins with the folder that the machine has.
  if (TMPDIR === undefined) delete process.env["TMPDIR"]
  else process.env["TMPDIR"] = TMPDIR
})
