# A flake for Nix: `nix run ./packaging/nix -- --version`. Not run by this project's tests, which have no
# Nix.
{
  description = "Load generator and benchmark for Redis, Valkey and memcached";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  # The repository, of which this folder is a part.
  inputs.keystorm = {
    url = "path:../..";
    flake = false;
  };

  outputs = { self, nixpkgs, keystorm }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "keystorm";
          version = (builtins.fromTOML (builtins.readFile "${keystorm}/Cargo.toml")).workspace.package.version;
          src = keystorm;
          cargoLock.lockFile = "${keystorm}/Cargo.lock";
          cargoBuildFlags = [ "-p" "keystorm" ];
          # The tests start servers and make network namespaces.
          doCheck = false;
          nativeBuildInputs = [ pkgs.pkg-config pkgs.installShellFiles ];
          buildInputs = [ pkgs.openssl ];
          postInstall = ''
            $out/bin/keystorm man --dir man
            installManPage man/*.1
            for shell in bash fish zsh; do
              $out/bin/keystorm completions $shell > keystorm.$shell
            done
            installShellCompletion keystorm.{bash,fish,zsh}
          '';
          meta.mainProgram = "keystorm";
        };
      });
    };
}
