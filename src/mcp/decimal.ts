/** Digits that a double surely holds. */
const SAFE_DIGITS = 15

/** An integer that has nothing to be taken off, by far the most frequent kind. */
const PLAIN = /^-?\d*[1-9]$/

/**
 * One spelling for each decimal value: significant digits without zeros at either end, `e`, exponent.
 * `1`, `1.0` and `10e-1` are all `1e0`; every zero is `0`. Exact for numbers of any size and linear in
 * their length, since the exponent is never carried out.
 */
export function canonicalNumber(written: string): string {
  if (written.length <= SAFE_DIGITS && PLAIN.test(written)) return `${written}e0`
  const sign = written.startsWith('-') ? '-' : ''
  const mark = written.search(/[eE]/)
  const mantissa = written.slice(sign.length, mark === -1 ? undefined : mark)
  const exponent = mark === -1 ? '0' : written.slice(mark + 1)
  const point = mantissa.indexOf('.')
  const digits = point === -1 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1)
  const fraction = point === -1 ? 0 : mantissa.length - point - 1
  const first = digits.search(/[1-9]/)
  if (first === -1) return '0'
  const end = lastOtherThan('0', digits) + 1
  return `${sign}${digits.slice(first, end)}e${sum(exponent, digits.length - end - fraction)}`
}

/** A written integer of any size plus a small one. */
function sum(written: string, delta: number): string {
  const sign = written.startsWith('-') ? '-' : ''
  const first = written.search(/[1-9]/)
  if (first === -1) return String(delta)
  const digits = written.slice(first)
  if (digits.length <= SAFE_DIGITS) return String(Number(sign + digits) + delta)
  const cut = digits.length - SAFE_DIGITS
  const whole = 10 ** SAFE_DIGITS
  const tail = Number(digits.slice(cut)) + (sign === '' ? delta : -delta)
  const head = digits.slice(0, cut)
  if (tail < 0) return sign + join(oneLess(head), tail + whole)
  if (tail >= whole) return sign + join(oneMore(head), tail - whole)
  return sign + join(head, tail)
}

function join(head: string, tail: number): string {
  const digits = head + String(tail).padStart(SAFE_DIGITS, '0')
  return digits.slice(digits.search(/[1-9]/))
}

function oneMore(digits: string): string {
  const at = lastOtherThan('9', digits)
  const zeros = '0'.repeat(digits.length - at - 1)
  return at === -1 ? `1${zeros}` : digits.slice(0, at) + (Number(digits[at]) + 1) + zeros
}

function oneLess(digits: string): string {
  const at = lastOtherThan('0', digits)
  return digits.slice(0, at) + (Number(digits[at]) - 1) + '9'.repeat(digits.length - at - 1)
}

function lastOtherThan(digit: string, digits: string): number {
  let at = digits.length - 1
  while (at >= 0 && digits[at] === digit) at--
  return at
}
