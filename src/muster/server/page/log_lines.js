// What a terminal would show of the output of one worker: finished lines, and those that are still redrawn, as progress
// bars do. Colours are left out. A line that is longer than the limit continues on the next one.

const LONGEST = 65_536;
const MOST_ROWS = 64;
const MOVING = /[\r\b\x1b]/;
const TOKEN = /\x1b\[([0-9;:?]*)([A-Za-z])|([^\r\b\x1b]+)|([\r\b\x1b])/g;
const BEGUN = /(?:\r|\x1b(?:\[[0-9;:?]{0,60})?)$/;

export class OutputLines {
  constructor() {
    this.held = ""; // the beginning of an escape sequence, or a carriage return that may belong to a newline
    this.rows = [[]]; // each a list of characters
    this.row = this.column = 0;
    this.height = 1; // the number of lines that stay open, because the program moves up to them
  }

  // Returns the lines that are finished now.
  feed(text) {
    const all = this.held + text;
    this.held = all.match(BEGUN)?.[0] ?? "";
    const done = [];
    const lines = all.slice(0, all.length - this.held.length).split("\n");
    const rest = lines.pop();
    for (const line of lines) {
      const written = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (this.isEmpty() && !MOVING.test(written)) {
        done.push(written);
        continue;
      }
      this.write(written, done);
      this.endLine(done);
    }
    this.write(rest, done);
    return done;
  }

  finish() {
    const rest = this.unfinished();
    this.rows = [[]];
    this.row = this.column = 0;
    return rest;
  }

  unfinished() {
    const rows = this.rows.map((row) => row.join("").trimEnd());
    return rows.at(-1) ? rows : rows.slice(0, -1);
  }

  isEmpty() {
    return this.rows.length === 1 && !this.rows[0].length && this.height === 1;
  }

  endLine(done) {
    this.row += 1;
    this.column = 0;
    if (this.row === this.rows.length) this.rows.push([]);
    while (this.rows.length > this.height && this.row) {
      done.push(this.rows.shift().join("").trimEnd());
      this.row -= 1;
    }
  }

  write(text, done) {
    for (const [, digits, kind, plain, control] of text.matchAll(TOKEN)) {
      if (plain) this.put(plain, done);
      else if (control === "\r") this.column = 0;
      else if (control === "\b") this.column = Math.max(0, this.column - 1);
      else if (kind) this.move(kind, Number(digits) || 0);
    }
  }

  put(text, done) {
    const row = this.rows[this.row];
    while (row.length < this.column) row.push(" ");
    const letters = Array.from(text);
    for (let from = 0; from < letters.length; from += 4096) {
      const part = letters.slice(from, from + 4096);
      row.splice(this.column, part.length, ...part);
      this.column += part.length;
    }
    if (this.column < LONGEST) return;
    done.push(...this.finish());
  }

  move(kind, count) {
    const row = this.rows[this.row];
    const many = Math.max(1, count);
    if (kind === "A") {
      this.height = Math.min(MOST_ROWS, Math.max(this.height, this.height + many - this.row));
      this.row = Math.max(0, this.row - many);
    } else if (kind === "B") this.row = Math.min(this.rows.length - 1, this.row + many);
    else if (kind === "C") this.column = Math.min(row.length, this.column + many);
    else if (kind === "D") this.column = Math.max(0, this.column - many);
    else if (kind === "G") this.column = Math.min(row.length, many - 1);
    else if (kind === "K" && count === 0) row.splice(this.column);
    else if (kind === "K" && count === 2) row.fill(" ");
    else if (kind === "J" && count === 0) {
      row.splice(this.column);
      this.rows.splice(this.row + 1);
    }
  }
}
