//! A walk over the tokens of one file that knows in which module and whether in a
//! function it is, leaves out what is compiled for tests only, and sees every path whole:
//! `use a::{b, c::d}` is `a::b` and `a::c::d`.

use super::lexer::{Token, tokens};

/// What a file says that a rule may care about.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Every path and every single word that begins one, with its line and the inline
    /// modules around it.
    pub(crate) paths: Vec<PathUse>,
    /// Lines with `cfg` inside a function's body.
    pub(crate) cfg_in_function: Vec<usize>,
    /// Lines of `derive(..)`, with the words derived.
    pub(crate) derives: Vec<(usize, Vec<String>)>,
    /// Modules declared with `#[cfg(test)] mod NAME;`.
    pub(crate) test_modules: Vec<String>,
    /// What each `use` at the top of the file brings in: the name and its path.
    pub(crate) imports: Vec<(String, Vec<String>)>,
}

/// A path as it stands in the source.
#[derive(Debug)]
pub(crate) struct PathUse {
    /// Its segments; one for a word that stands alone.
    pub(crate) segments: Vec<String>,
    /// The inline modules it stands in, outermost first.
    pub(crate) inside: Vec<String>,
    /// Where.
    pub(crate) line: usize,
    /// Whether it is imported.
    pub(crate) imported: bool,
}

/// Walks `source`.
pub(crate) fn facts(source: &str) -> Facts {
    let tokens = tokens(source);
    let mut walk = Walk {
        tokens: &tokens,
        at: 0,
        scopes: Vec::new(),
        next: None,
        nested: 0,
        facts: Facts::default(),
    };
    while walk.at < walk.tokens.len() {
        walk.step();
    }
    walk.facts
}

enum Scope {
    Function,
    Module(String),
    Other,
}

struct Walk<'a> {
    tokens: &'a [Token],
    at: usize,
    /// What each open brace belongs to.
    scopes: Vec<Scope>,
    /// What the next brace will belong to.
    next: Option<Scope>,
    /// Open parentheses and brackets.
    nested: usize,
    facts: Facts,
}

impl<'a> Walk<'a> {
    fn step(&mut self) {
        match self.text(0) {
            "#" if self.text(1) == "[" || self.text(2) == "[" => return self.attribute(),
            "{" => {
                let scope = self.next.take().unwrap_or(Scope::Other);
                self.scopes.push(scope);
            }
            "}" => drop(self.scopes.pop()),
            "(" | "[" => self.nested += 1,
            ")" | "]" => self.nested = self.nested.saturating_sub(1),
            ";" if self.nested == 0 => self.next = None,
            "fn" if self.is_word(1) => self.next = Some(Scope::Function),
            "mod" if self.is_word(1) => self.next = Some(Scope::Module(self.text(1).to_owned())),
            "use" => {
                self.at += 1;
                if self.text(0) == "::" {
                    self.at += 1;
                }
                return self.path(true);
            }
            "cfg" if self.text(1) == "!" && self.in_function() => {
                self.facts.cfg_in_function.push(self.line());
            }
            "await" => return self.path(false),
            _ if self.is_word(0) && !self.continues_a_path() => return self.path(false),
            _ => {}
        }
        self.at += 1;
    }

    /// One attribute, with the item behind it when that is for tests only.
    fn attribute(&mut self) {
        let inner = self.text(1) == "!";
        let start = self.at + if inner { 3 } else { 2 };
        let end = self.closing(start - 1);
        let words: Vec<&str> = self.tokens[start..end]
            .iter()
            .filter(|t| t.is_word())
            .map(|t| t.text.as_str())
            .collect();
        let first = words.first().copied().unwrap_or_default();
        if matches!(first, "cfg" | "cfg_attr") && self.in_function() {
            self.facts.cfg_in_function.push(self.line());
        }
        if let Some(derive) = words.iter().position(|word| *word == "derive") {
            let derived = words[derive..].iter().map(|word| (*word).to_owned()).collect();
            self.facts.derives.push((self.line(), derived));
        }
        if words == ["cfg", "test"] && !inner {
            self.at = end + 1;
            return self.skip_item();
        }
        // Its words are judged like any others: `cfg(target_arch)`, `derive(serde::..)`.
        self.nested += 1;
        self.at = start;
    }

    /// Leaves out the item that begins here.
    fn skip_item(&mut self) {
        while self.text(0) == "#" {
            self.at = self.closing(self.at + 1) + 1;
        }
        let start = self.at;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" => self.at = self.closing(self.at),
                "{" => {
                    self.at = self.closing(self.at);
                    if self.tokens[start].text != "use" {
                        break;
                    }
                }
                ";" => break,
                "}" => return,
                _ => {}
            }
            self.at += 1;
        }
        let declares = self.text(0) == ";"
            && self.tokens.get(self.at.wrapping_sub(2)).is_some_and(|t| t.text == "mod");
        if declares {
            self.facts.test_modules.push(self.tokens[self.at - 1].text.clone());
        }
        self.at += 1;
    }

    /// Every path of the tree that begins here.
    fn path(&mut self, imported: bool) {
        let line = self.line();
        let inside = self.modules();
        let mut found = Vec::new();
        self.path_tree(Vec::new(), imported, &mut found);
        for (segments, name) in found {
            if imported && self.scopes.is_empty() {
                self.facts.imports.push((name, segments.clone()));
            }
            self.facts.paths.push(PathUse { segments, inside: inside.clone(), line, imported });
        }
    }

    /// Reads one tree of paths below `prefix`; `found` gets each with its local name.
    fn path_tree(
        &mut self,
        mut prefix: Vec<String>,
        imported: bool,
        found: &mut Vec<(Vec<String>, String)>,
    ) {
        loop {
            match self.text(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | "") {
                        self.path_tree(prefix.clone(), imported, found);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "*" => prefix.push("*".to_owned()),
                "self" if !prefix.is_empty() => {}
                _ if self.is_word(0) => prefix.push(self.text(0).to_owned()),
                // Generic arguments, or a macro's own syntax: what is inside is walked next.
                "" => break,
                _ if prefix.is_empty() => {
                    self.at += 1;
                    return;
                }
                _ => break,
            }
            self.at += 1;
            if self.text(0) != "::" {
                break;
            }
            self.at += 1;
        }
        let mut name = prefix.last().cloned().unwrap_or_default();
        if imported && self.text(0) == "as" {
            name = self.text(1).to_owned();
            self.at += 2;
        }
        found.push((prefix, name));
    }

    /// Where the bracket that opens at `open` closes.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.text.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }

    /// Whether this word is a later segment of a path, a field or a method.
    fn continues_a_path(&self) -> bool {
        let before = |n: usize| self.at.checked_sub(n).map(|at| &self.tokens[at]);
        match before(1).map(|token| token.text.as_str()) {
            Some(".") => before(2).is_none_or(|token| token.text != "."),
            Some("::") => before(2).is_some_and(|token| token.is_word() || token.text == ">"),
            _ => false,
        }
    }

    fn in_function(&self) -> bool {
        self.scopes.iter().any(|scope| matches!(scope, Scope::Function))
    }

    fn modules(&self) -> Vec<String> {
        let module = |scope: &Scope| match scope {
            Scope::Module(name) => Some(name.clone()),
            _ => None,
        };
        self.scopes.iter().filter_map(module).collect()
    }

    fn is_word(&self, ahead: usize) -> bool {
        self.tokens.get(self.at + ahead).is_some_and(Token::is_word)
    }

    /// The token so far ahead, empty after the end.
    fn text(&self, ahead: usize) -> &'a str {
        let tokens: &'a [Token] = self.tokens;
        tokens.get(self.at + ahead).map_or("", |token| token.text.as_str())
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.line)
    }
}
