/**
 * Lists of the interface: a bare array, unless `page` or `page_size` is sent; then the paged object.
 * `limit` is the older way to ask for the first rows only.
 */
import { Schema } from "effect"
import { query } from "#core/query.ts"

/** Rows of a page where only `page` is sent. */
const defaultPageSize = 50
/** Rows of a page at most; also the most that `limit` may ask for. */
export const maxPageSize = 100
/** Rows of a bare array without `limit`: a bound for what one answer may hold. */
const maxRows = 1_000
/** Keeps `offset` a safe integer. */
const maxPage = 1_000_000

/** Spread into a route's query schema: `Schema.Struct({ ...pageQuery, … })`. */
export const pageQuery = {
  page: Schema.optionalKey(query.int({ minimum: 1, maximum: maxPage })),
  page_size: Schema.optionalKey(query.int({ minimum: 1, maximum: maxPageSize })),
  limit: Schema.optionalKey(query.int({ minimum: 1, maximum: maxPageSize })),
}

export interface PageQuery {
  readonly page?: number
  readonly page_size?: number
  readonly limit?: number
}

/** What to read: `limit` rows from `offset` on. `paged` tells whether the total is needed too. */
export interface Window {
  readonly paged: boolean
  readonly page: number
  readonly limit: number
  readonly offset: number
}

export const windowOf = ({ page, page_size, limit }: PageQuery): Window => {
  if (page === undefined && page_size === undefined) {
    return { paged: false, page: 1, limit: limit ?? maxRows, offset: 0 }
  }
  const size = page_size ?? limit ?? defaultPageSize
  return { paged: true, page: page ?? 1, limit: size, offset: ((page ?? 1) - 1) * size }
}

export interface Paged<Item> {
  readonly items: ReadonlyArray<Item>
  readonly page: number
  readonly page_size: number
  readonly total_count: number
  readonly total_pages: number
}

/** The answer for the rows of `window`; `totalCount` is looked at only where the window is paged. */
export const pageOf = <Item>(
  window: Window,
  items: ReadonlyArray<Item>,
  totalCount: number,
): ReadonlyArray<Item> | Paged<Item> =>
  window.paged
    ? {
        items,
        page: window.page,
        page_size: window.limit,
        total_count: totalCount,
        total_pages: Math.ceil(totalCount / window.limit),
      }
    : items

/** Shape of a list route's answer. */
export const PageOf = <Item>(item: Schema.Codec<Item, unknown>) =>
  Schema.Union([
    Schema.Array(item),
    Schema.Struct({
      items: Schema.Array(item),
      page: Schema.Int,
      page_size: Schema.Int,
      total_count: Schema.Int,
      total_pages: Schema.Int,
    }),
  ])
