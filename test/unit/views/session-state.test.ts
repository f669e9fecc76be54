/** What two calls for one session make of its state. */
import { expect, test } from "bun:test"
import { withChanges } from "../../../src/hook/state.ts"

test("what another call has written meanwhile stays, unless this one has changed it", () => {
  const before = { prompt: "p", promptAt: 7, promptOpen: true, summary: "s", delivery: { at: 1, time: 1 } }
  const { summary: _used, ...rest } = before
  const after = { ...rest, promptOpen: false, jobAt: 7 }
  const latest = { ...before, prompt: "q", restoreTime: 5, delivery: { at: 2, time: 2 } }
  expect(withChanges(before, after, latest)).toEqual({
    prompt: "q",
    promptAt: 7,
    promptOpen: false,
    restoreTime: 5,
    delivery: { at: 2, time: 2 },
    jobAt: 7,
  })
  const { delivery: _seen, ...looked } = before
  expect(withChanges(before, looked, latest).delivery).toBeUndefined()
})
