// Written by svc. Changes are lost: svc plugin build writes it again.
// JSON as a policy needs it: read as a tree, written as text. What is not there reads as nothing: "", 0, false, no items.

/** A number or a truth that may be absent. */
export class Box<T> {
  constructor(public value: T) {}
}

export class Json {
  static readonly absent: Json = new Json()
  isNothing: bool = true
  truth: bool = false
  number: f64 = 0
  text: string = ""
  items: Json[] = []
  /** Of the items, where it is an object. */
  names: string[] = []

  static parse(source: string): Json {
    const reader = new Reader(source)
    const value = reader.value()
    reader.end()
    return value
  }

  member(name: string): Json {
    for (let at = 0; at < this.names.length; at++) if (this.names[at] == name) return this.items[at]
    return Json.absent
  }

  has(name: string): bool {
    return this.names.includes(name)
  }
}

class Reader {
  private at: i32 = 0
  constructor(private source: string) {}

  value(): Json {
    const json = new Json()
    const first = this.peek()
    if (first == 0x6e /* n */) {
      this.at += 4
      return json
    }
    json.isNothing = false
    if (first == 0x7b /* { */) this.members(json)
    else if (first == 0x5b /* [ */) this.list(json)
    else if (first == 0x22 /* " */) json.text = this.string()
    else if (first == 0x74 /* t */) {
      json.truth = true
      this.at += 4
    } else if (first == 0x66 /* f */) this.at += 5
    else json.number = this.numeral()
    return json
  }

  end(): void {
    if (this.peek() != 0) throw new Error("The question has more than one value")
  }

  private peek(): i32 {
    while (this.at < this.source.length) {
      const code = this.source.charCodeAt(this.at)
      if (code > 0x20) return code
      this.at++
    }
    return 0
  }

  private take(code: i32): void {
    if (this.peek() != code) throw new Error("The question is not JSON, at " + this.at.toString())
    this.at++
  }

  private takeIf(code: i32): bool {
    if (this.peek() != code) return false
    this.at++
    return true
  }

  private members(json: Json): void {
    this.take(0x7b)
    if (this.takeIf(0x7d)) return
    do {
      this.peek()
      json.names.push(this.string())
      this.take(0x3a)
      json.items.push(this.value())
    } while (this.takeIf(0x2c))
    this.take(0x7d)
  }

  private list(json: Json): void {
    this.take(0x5b)
    if (this.takeIf(0x5d)) return
    do {
      json.items.push(this.value())
    } while (this.takeIf(0x2c))
    this.take(0x5d)
  }

  private numeral(): f64 {
    const from = this.at
    while (this.at < this.source.length) {
      const code = this.source.charCodeAt(this.at)
      const part = (code >= 0x30 && code <= 0x39) || code == 0x2d || code == 0x2b || code == 0x2e || (code | 0x20) == 0x65
      if (!part) break
      this.at++
    }
    if (from == this.at) throw new Error("The question is not JSON, at " + from.toString())
    return parseFloat(this.source.substring(from, this.at))
  }

  private string(): string {
    this.take(0x22)
    const source = this.source
    const from = this.at
    let to = from
    let escapes = false
    for (; to < source.length; to++) {
      const code = source.charCodeAt(to)
      if (code == 0x22) break
      if (code == 0x5c) {
        escapes = true
        to++
      }
    }
    if (to >= source.length) throw new Error("The question ends within a text")
    this.at = to + 1
    return escapes ? unescaped(source, from, to) : source.substring(from, to)
  }
}

/** In one buffer: texts made of pieces would fill the memory, which is not collected. */
function unescaped(source: string, from: i32, to: i32): string {
  const units = new StaticArray<u16>(to - from)
  let count = 0
  for (let at = from; at < to; at++) {
    let code = source.charCodeAt(at)
    if (code == 0x5c) {
      code = source.charCodeAt(++at)
      if (code == 0x75) {
        code = i32(parseInt(source.substring(at + 1, at + 5), 16))
        at += 4
      } else code = escape(code)
    }
    units[count++] = u16(code)
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(units), usize(count) << 1)
}

function escape(letter: i32): i32 {
  if (letter == 0x6e) return 0x0a
  if (letter == 0x74) return 0x09
  if (letter == 0x72) return 0x0d
  if (letter == 0x62) return 0x08
  if (letter == 0x66) return 0x0c
  return letter
}

export class Writer {
  private parts: string[] = []
  private first: bool = true

  text(): string {
    return this.parts.join("")
  }

  open(bracket: string): void {
    this.parts.push(bracket)
    this.first = true
  }

  close(bracket: string): void {
    this.parts.push(bracket)
    this.first = false
  }

  /** Before every item of a list. */
  item(): void {
    if (!this.first) this.parts.push(",")
    this.first = false
  }

  name(name: string): void {
    this.item()
    this.parts.push('"' + name + '":')
  }

  raw(text: string): void {
    this.parts.push(text)
    this.first = false
  }

  number(value: f64): void {
    this.raw(isFinite(value) ? value.toString() : "null")
  }

  string(value: string): void {
    this.parts.push('"')
    let from = 0
    for (let at = 0; at < value.length; at++) {
      const code = value.charCodeAt(at)
      const lone = code >= 0xd800 && code <= 0xdfff && !isPair(value, at, code)
      if (code >= 0x20 && code != 0x22 && code != 0x5c && !lone) continue
      this.parts.push(value.substring(from, at))
      this.parts.push("\\u" + hexadecimal(code))
      from = at + 1
    }
    this.parts.push(value.substring(from))
    this.raw('"')
  }
}

function isPair(text: string, at: i32, code: i32): bool {
  const isFirst = code < 0xdc00
  const other = isFirst ? at + 1 : at - 1
  if (other < 0 || other >= text.length) return false
  const unit = text.charCodeAt(other)
  return isFirst ? unit >= 0xdc00 && unit <= 0xdfff : unit >= 0xd800 && unit <= 0xdbff
}

function hexadecimal(code: i32): string {
  return code.toString(16).padStart(4, "0")
}
