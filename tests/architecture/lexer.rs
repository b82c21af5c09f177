//! Rust source cut into the words and signs that matter to a rule about names.
//!
//! Comments, strings, characters, lifetimes and numbers leave nothing behind, so that
//! what they mention breaks no rule. It is no parser, and trusts that rustc accepts the
//! source.

/// One word or sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// A whole identifier or keyword, `::`, or one character of punctuation.
    pub(crate) text: String,
    /// Counted from 1.
    pub(crate) line: usize,
}

impl Token {
    /// Whether it is an identifier or a keyword.
    pub(crate) fn is_word(&self) -> bool {
        self.text.starts_with(is_word_start)
    }
}

/// The tokens of `source`.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { chars: source.chars().collect(), at: 0, line: 1, tokens: Vec::new() };
    while lexer.at < lexer.chars.len() {
        lexer.step();
    }
    lexer.tokens
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer {
    fn step(&mut self) {
        let next = self.peek(0);
        if next == '/' && self.peek(1) == '/' {
            self.skip_while(|c| c != '\n');
        } else if next == '/' && self.peek(1) == '*' {
            self.skip_block_comment();
        } else if next == '"' {
            self.skip_string();
        } else if next == '\'' {
            self.skip_quote();
        } else if is_word_start(next) {
            self.word();
        } else if next.is_ascii_digit() {
            self.skip_while(is_word_part);
        } else if next == ':' && self.peek(1) == ':' {
            self.push("::".to_owned());
            self.skip(2);
        } else {
            if !next.is_whitespace() {
                self.push(next.to_string());
            }
            self.skip(1);
        }
    }

    /// A word, or the prefix of a raw identifier or of a string (`r#"`, `b'`, `c"`).
    fn word(&mut self) {
        let start = self.at;
        let line = self.line;
        self.skip_while(is_word_part);
        let text: String = self.chars[start..self.at].iter().collect();
        let raw = matches!(text.as_str(), "r" | "br" | "cr");
        if raw && (self.peek(0) == '"' || self.peek(0) == '#') {
            let hashes = self.chars[self.at..].iter().take_while(|&&c| c == '#').count();
            if self.peek(hashes) == '"' {
                self.skip_raw_string(hashes);
            } else {
                // A raw identifier: the word after `r#` speaks for itself.
                self.skip(hashes);
            }
        } else if matches!(text.as_str(), "b" | "c") && self.peek(0) == '"' {
            self.skip_string();
        } else if text == "b" && self.peek(0) == '\'' {
            self.skip_quote();
        } else {
            self.tokens.push(Token { text, line });
        }
    }

    fn skip_string(&mut self) {
        self.skip(1);
        while self.at < self.chars.len() && self.peek(0) != '"' {
            self.skip(if self.peek(0) == '\\' { 2 } else { 1 });
        }
        self.skip(1);
    }

    fn skip_raw_string(&mut self, hashes: usize) {
        self.skip(hashes + 1);
        while self.at < self.chars.len() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|n| self.peek(n) == '#');
            self.skip(1);
            if closes {
                return self.skip(hashes);
            }
        }
    }

    /// A character, or a lifetime.
    fn skip_quote(&mut self) {
        if self.peek(1) == '\\' {
            self.skip(3);
            self.skip_while(|c| c != '\'');
            self.skip(1);
        } else if self.peek(2) == '\'' {
            self.skip(3);
        } else {
            self.skip(1);
            self.skip_while(is_word_part);
        }
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.skip(1);
                    continue;
                }
            }
            self.skip(2);
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_while(&mut self, accepts: impl Fn(char) -> bool) {
        while self.at < self.chars.len() && accepts(self.peek(0)) {
            self.skip(1);
        }
    }

    fn skip(&mut self, chars: usize) {
        let end = (self.at + chars).min(self.chars.len());
        self.line += self.chars[self.at..end].iter().filter(|&&c| c == '\n').count();
        self.at = end;
    }

    /// The character so far ahead, NUL after the end.
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn push(&mut self, text: String) {
        self.tokens.push(Token { text, line: self.line });
    }
}

fn is_word_start(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn is_word_part(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
