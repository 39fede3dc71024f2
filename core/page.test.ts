import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type PageQuery, pageOf, pageQuery, windowOf } from "#core/page.ts"

const answer = (query: PageQuery, total: number) => {
  const rows = Array.from({ length: total }, (_, index) => index + 1)
  const window = windowOf(query)
  return pageOf(window, rows.slice(window.offset, window.offset + window.limit), total)
}

describe("a list", () => {
  it("is a bare array unless a page is asked for", () => {
    expect(answer({}, 3)).toEqual([1, 2, 3])
    expect(answer({ limit: 2 }, 3)).toEqual([1, 2])
  })

  it.each([
    [
      { page: 1, page_size: 2 },
      { items: [1, 2], page: 1, page_size: 2, total_count: 5, total_pages: 3 },
    ],
    [
      { page: 3, page_size: 2 },
      { items: [5], page: 3, page_size: 2, total_count: 5, total_pages: 3 },
    ],
    [
      { page: 4, page_size: 2 },
      { items: [], page: 4, page_size: 2, total_count: 5, total_pages: 3 },
    ],
    [{ page_size: 10 }, { items: [1, 2, 3, 4, 5], page: 1, page_size: 10, total_count: 5, total_pages: 1 }],
    [{ page: 1 }, { items: [1, 2, 3, 4, 5], page: 1, page_size: 50, total_count: 5, total_pages: 1 }],
    [
      { page: 2, limit: 3 },
      { items: [4, 5], page: 2, page_size: 3, total_count: 5, total_pages: 2 },
    ],
  ])("is a page for %j", (query, expected) => {
    expect(answer(query, 5)).toEqual(expected)
  })

  it("has no pages when it is empty", () => {
    expect(answer({ page: 1 }, 0)).toMatchObject({ items: [], total_count: 0, total_pages: 0 })
  })

  it.each(["0", "-1", "101", "1.5", "", "1e1", " 1", "1000000000000000000000"])("has no page size %j", (page_size) => {
    expect(Schema.decodeExit(Schema.Struct(pageQuery))({ page_size })._tag).toBe("Failure")
  })

  it("has pages that are safe to multiply", () => {
    const decoded = Schema.decodeSync(Schema.Struct(pageQuery))({ page: "1000000", page_size: "100" })
    expect(Number.isSafeInteger(windowOf(decoded).offset)).toBe(true)
  })
})
