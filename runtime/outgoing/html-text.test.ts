import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { htmlText } from "#runtime/outgoing/html-text.ts"

describe("the text of a page", () => {
  it.each([
    ["words", "a  b\n\tc", "a b c"],
    ["blocks", "<div>a</div><div>b</div>c<p>d<br>e", "a\nb\nc\n\nd\ne"],
    ["headings and lists", "<h1>A</h1><ul><li>b<li>c</ul><h3>D</h3>", "# A\n\n- b\n- c\n\n### D"],
    ["an empty item", "<li></li><h2> </h2>a", "a"],
    ["tables", "<table><tr><th>a<th>b<tr><td>c</td><td>d</td></table>", "a | b\nc | d"],
    ["text as it is set", "<pre>a\n  b  <b>c</b>\n</pre>d  e", "a\n  b  c\n\nd e"],
    ["scripts and styles", "a<script>b()</script><style>c{}</style>d", "ad"],
    ["a script that looks like its end", "<script>'</scripty' + '<p>'</script>a", "a"],
    ["a script without an end", "a<script>b", "a"],
    ["what is hidden", "a<svg><text>b</text><svg>c</svg>d</svg><noscript><p>e</p></noscript>f", "af"],
    ["comments", "a<!-- <p>b</p> -->c<!-- d", "ac"],
    ["declarations", "<!DOCTYPE html><?xml version='1.0'?>a", "a"],
    ["values with signs", "<a title='1 > 0' href=\"x>y\">b</a> c", "b c"],
    ["a sign that begins no tag", "1 < 2 <3 && a<b>c", "1 < 2 <3 && ac"],
    ["a tag without an end", "a<b c", "a"],
    ["references", "&lt;b&gt; &amp;amp; &#65;&#x42; &eacute;&nope; &copy;", "<b> &amp; AB é&nope; ©"],
    ["references that are no characters", "&#0;&#xd800;&#x110000;&#99999999;", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"],
    ["prototypes", "&constructor; &toString;", "&constructor; &toString;"],
    ["names in capitals", "<P>a</P><SCRIPT>b</Script>c", "a\n\nc"],
    ["a title", "<head><title>A <b> &amp; B</title></head><body>c", "A <b> & B\n\nc"],
  ])("has %s right", (_, html, text) => {
    expect(htmlText(html)).toBe(text)
  })

  const Part = Schema.Literals([
    "<",
    ">",
    "</",
    "<!--",
    "-->",
    "<script>",
    "</script>",
    "<pre>",
    "</pre>",
    "<svg>",
    "a",
    '"',
    "=",
    "&#65;",
    " ",
    "\n",
    "<p x='",
  ])
  it.prop("is made of any source", [Schema.Array(Part).check(Schema.isMaxLength(40))], ([parts]) => {
    expect(htmlText(parts.join(""))).toEqual(expect.any(String))
  })

  it.each(["<", "</", "<!--", '<a ="', "<script>", "<textarea></", "<svg>", "&#", "<pre>\n", "<title>", "a<b>", " "])(
    "takes one pass, also where a page repeats %j 200,000 times",
    (part) => {
      const page = part.repeat(200_000)
      expect(htmlText(page).length).toBeLessThanOrEqual(page.length)
    },
  )
})
