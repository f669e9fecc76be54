/** What hooks need of the filter, which build/hook.ts makes one module of. */
import { searchUntil } from "./clock.ts"
import { FILLER, FILTERED, filterLines, filterText } from "./filter.ts"

export const filter = { FILLER, FILTERED, filterLines, filterText, searchUntil }
