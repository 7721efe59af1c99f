"""
A tree that balances a pole
===========================

Learn to balance a pole with a tree of depth 2 for the actor of PPO, read the policy in the units of the observation,
see that it plays as the agent does, and ship it as C. Needs the extra ``rl``.
"""

import matplotlib.pyplot as plt
import torch
from stable_baselines3 import PPO

from dtsemnet.export import to_c, to_text
from dtsemnet.plot import plot_regions
from dtsemnet.rl import TreePolicy, evaluate, policy_tree

torch.set_num_threads(1)  # small networks: more threads only wait for each other

agent = PPO(
    TreePolicy,
    "CartPole-v1",
    learning_rate=0.02,
    n_steps=832,
    batch_size=64,
    n_epochs=10,
    gae_lambda=0.86,
    ent_coef=0.02,
    policy_kwargs={"max_depth": 2, "net_arch": [16, 16]},
    seed=1,
    device="cpu",
)
for _ in range(12):
    agent.learn(832, reset_num_timesteps=False)
    rewards = evaluate(agent, "CartPole-v1", range(10_000, 10_003))
    print(f"{agent.num_timesteps:5d} steps: balanced for {sum(rewards) / len(rewards):.0f} of 500")
    if min(rewards) == 500:
        break

# %%
# The tree that comes out, with names for what it reads and does.
names = ["cart position", "cart velocity", "pole angle", "pole velocity"]
policy = policy_tree(agent, feature_names=names, action_names=["push left", "push right"])
print(to_text(policy, digits=3))

# %%
# What it does in the plane of the pole, with the cart at rest in the middle.
plot_regions(policy, features=("pole angle", "pole velocity"), limits=((-0.2, 0.2), (-2, 2)))
plt.show()

# %%
# The tree plays as the agent did: same actions, same rewards.
seeds = range(500, 505)
tree = evaluate(policy_tree(agent), "CartPole-v1", seeds)  # actions by number, as the environment takes them
print(f"test episodes of the tree {tree}, of the agent {evaluate(agent, 'CartPole-v1', seeds)}")

print(f"as C: {len(to_c(policy).text.splitlines())} lines")
