/** What build/hook.ts and build/search.ts make, and TypeScript may not see: types hold also before the first build. */

declare module "*/dist/hook/run.js" {
  export const runHook: typeof import("./hook/run.ts").runHook
}

declare module "*/dist/search/run-search.js" {
  export const runSearch: typeof import("./cli/run-search.ts").runSearch
}

declare module "*/dist/filter/for-hooks.js" {
  export const filter: typeof import("./secrets/for-hooks.ts").filter
}
