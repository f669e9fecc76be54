/** Local times. */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"

/** Moments from 1894 to 2137, as the engine tells them and as we do. */
const PROGRAM = `
const { localTimeOf } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/base/local-time.ts"))})
const moments = Array.from({ length: 3000 }, (_, n) => n * 2_555_555_555 - 2_400_000_000_000 + (n % 1000))
const told = moments.map((ms) => {
  const date = new Date(ms)
  return [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()].join()
})
const others = moments.filter((ms, n) => {
  const { year, month, day, hour, minute, second } = localTimeOf(ms)
  return [year, month, day, hour, minute, second].join() !== told[n]
})
const isUtc = told.every((text, n) => Number(text.split(",")[3]) === new Date(moments[n]).getUTCHours())
console.log(JSON.stringify({ isUtc, others }))
`

/** We ask the C library, because the engine loads data of time zones of its own: 6 to 10 ms for each short command. */
test
  .if(existsSync("/usr/share/zoneinfo/Asia/Kolkata"))
  .each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])(
  "local times in %s are those that the engine tells",
  (zone) => {
    const env = { ...process.env, TZ: zone }
    const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM], { env })
    expect({ stdout: JSON.parse(stdout.toString()), stderr: stderr.toString(), exitCode }).toEqual({
      stdout: { isUtc: zone === "UTC", others: [] },
      stderr: "",
      exitCode: 0,
    })
  },
)
