"""Settings of Sphinx for the site: what is read, and how it looks. forge.py has the rest."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

project = "Ramaria"
language = "en"
extensions = ["myst_parser", "forge"]

root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "clients/*/README.md", "internal/*/DESIGN.md"]

# The pages are what a forge shows: its Markdown, its anchors, and nothing of Sphinx.
myst_enable_extensions = ["gfm_autolink", "strikethrough", "tasklist"]
myst_disable_syntax = ["front_matter", "myst_block_break", "myst_line_comment", "myst_role", "myst_target"]
myst_heading_anchors = 6
smartquotes = False
highlight_language = "text"
# Blocks have what is seen, "…" and prompts included, which not every lexer takes for its language.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "Ramaria"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {"top_of_page_buttons": []}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
# A summary is fetched from its page, which no browser lets a page from a file do.
html_show_search_summary = False
