# Homebrew formula; README.md of the folder above says what a publisher fills in.
class Aro < Formula
  desc "Access to Azure Red Hat OpenShift clusters from the command-line"
  homepage "https://packages.example/aro"
  url "https://packages.example/aro/aro-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "portal/aro")
    generate_completions_from_executable(bin/"aro", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/aro --version")
    assert_match "not signed in", shell_output("#{bin}/aro exit-codes")
  end
end
