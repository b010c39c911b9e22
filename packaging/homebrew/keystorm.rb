# A formula for Homebrew: `brew install --HEAD --formula ./packaging/homebrew/keystorm.rb`.
# Not run by this project's tests, which have no macOS.
class Keystorm < Formula
  desc "Load generator and benchmark for Redis, Valkey and memcached"
  homepage "https://github.com/keystorm/keystorm"
  license any_of: ["Apache-2.0", "MIT"]
  head "https://github.com/keystorm/keystorm.git", branch: "main"

  depends_on "rust" => :build
  depends_on "pkgconf" => :build
  depends_on "openssl@3"

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/keystorm")
    generate_completions_from_executable(bin/"keystorm", "completions")
    system bin/"keystorm", "man", "--dir", buildpath/"man"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/keystorm --version") unless build.head?
    # Port 1 has no server: the error says what to do.
    assert_match "could not connect", shell_output("#{bin}/keystorm -p 1 -n 1 2>&1", 1)
  end
end
